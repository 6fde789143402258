// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/faultkit/provider"
	"github.com/deed-run/deed/httpgate"
	"github.com/deed-run/deed/outcome"
	"github.com/deed-run/deed/storetest"
)

const (
	key   = "order-1:charge:1"
	other = "order-1:charge:2"
)

// rig is a gate over a ledger in memory, in front of an upstream, behind a server.
type rig struct {
	t       *testing.T
	gate    *httpgate.Gate
	runtime *deed.Runtime
	store   deed.Store
	url     string
	client  *http.Client
	fixture *provider.Provider
}

// setup says what a rig has that others have not.
type setup struct {
	routes   []httpgate.Route
	upstream httpgate.Upstream
	handler  http.Handler // instead of an upstream
	clock    deed.Clock
	store    deed.Store
	rule     func(*deed.Rule)
	edit     func(*httpgate.Options)
}

type base func(*deed.Rule)

func (b base) Rule(tool deed.Tool, _ deed.ToolFacts) deed.Rule {
	rule := deed.DefaultRule(tool)
	if b != nil {
		b(&rule)
	}
	return rule
}

// auth takes the bearer token for the actor: "stranger" may call and not read.
func auth(r *http.Request) (deed.Principal, bool) {
	who := deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightCall, deed.RightRead}}
	switch token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); token {
	case "":
	case "nobody":
		return who, false
	default:
		who.Actor, who.Rights = deed.Actor(token), []deed.Right{deed.RightCall}
	}
	return who, true
}

func build(t *testing.T, s setup) *rig {
	t.Helper()
	if s.clock == nil {
		s.clock = deed.SystemClock{}
	}
	if s.store == nil {
		s.store = storetest.NewMemory(s.clock)
	}
	routes, err := httpgate.NewRoutes("pay", s.routes)
	must(t, err)
	policy := routes.Policy(base(s.rule))
	r := &rig{t: t, store: s.store, client: &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	r.runtime, err = deed.New(deed.Options{Store: s.store, Policy: policy, Clock: s.clock})
	must(t, err)
	options := httpgate.Options{
		Routes: routes, Runtime: r.runtime, Policy: policy, Auth: auth, Clock: s.clock,
		Outcomes: func(deed.Tool) outcome.Rules { return outcome.Rules{Receipt: outcome.Pointers{ID: "/id"}} },
	}
	if s.edit != nil {
		s.edit(&options)
	}
	r.gate, err = httpgate.New(options)
	must(t, err)
	var guarded http.Handler
	if s.handler != nil {
		guarded = r.gate.Middleware(s.handler)
	} else {
		guarded, err = r.gate.Proxy(s.upstream)
		must(t, err)
	}
	front := httptest.NewServer(guarded)
	r.url = front.URL
	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		front.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := r.gate.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := r.runtime.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return r
}

// charge is the route of the fixture's pay.charge.
func charge(edit func(*httpgate.Route)) []httpgate.Route {
	route := httpgate.Route{Method: "POST", Pattern: "/tools/pay.charge"}
	if edit != nil {
		edit(&route)
	}
	return []httpgate.Route{route}
}

// overFixture builds a rig in front of the fixture provider.
func overFixture(t *testing.T, s setup) *rig {
	t.Helper()
	p, err := provider.Open(provider.Options{Dir: t.TempDir()})
	must(t, err)
	server, err := provider.Listen(p, "127.0.0.1:0", "127.0.0.1:0")
	must(t, err)
	s.upstream.URL = server.Addresses().Tools
	if s.routes == nil {
		s.routes = charge(nil)
	}
	// Closed after the gate, whose attempts it serves.
	t.Cleanup(func() { must(t, server.Close()) })
	r := build(t, s)
	r.fixture = p
	return r
}

// effects counts what the fixture did and was asked.
func (r *rig) effects(effects, requests int) {
	r.t.Helper()
	done, err := r.fixture.Effects(context.Background(), provider.Selection{})
	must(r.t, err)
	asked, err := r.fixture.Requests(context.Background(), provider.Selection{})
	must(r.t, err)
	if len(done) != effects || len(asked) != requests {
		r.t.Errorf("the provider did %d of %d requests, want %d of %d", len(done), len(asked), effects, requests)
	}
}

func (r *rig) fault(f provider.Fault) {
	r.t.Helper()
	must(r.t, r.fixture.SetFaults(f))
}

// got is an answer.
type got struct {
	status int
	header http.Header
	body   string
}

// send makes a request; header holds names and values in turn.
func (r *rig) send(method, path, body string, header ...string) got {
	r.t.Helper()
	g, err := r.try(method, path, body, header...)
	must(r.t, err)
	return g
}

func (r *rig) try(method, path, body string, header ...string) (got, error) {
	req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	if err != nil {
		return got{}, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return got{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	doc, err := io.ReadAll(resp.Body)
	return got{resp.StatusCode, resp.Header, string(doc)}, err
}

func (r *rig) charge(body string, header ...string) got {
	r.t.Helper()
	return r.send("POST", "/tools/pay.charge", body, header...)
}

const order1 = `{"order_id":"o1","amount":100}`

// wants checks status and headers, given as names and values in turn.
func (g got) wants(t *testing.T, status int, header ...string) {
	t.Helper()
	if g.status != status {
		t.Errorf("status %d, want %d: %s", g.status, status, g.body)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if have := g.header.Get(header[i]); have != header[i+1] {
			t.Errorf("%s: %q, want %q", header[i], have, header[i+1])
		}
	}
}

// member reads a member of a JSON answer.
func (g got) member(t *testing.T, path ...string) any {
	t.Helper()
	var doc any
	d := json.NewDecoder(bytes.NewReader([]byte(g.body)))
	must(t, d.Decode(&doc))
	for _, name := range path {
		if list, ok := doc.([]any); ok && len(list) > 0 {
			doc = list[0]
		}
		object, _ := doc.(map[string]any)
		doc = object[name]
	}
	return doc
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
