// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/policy"
	"github.com/deed-run/deed/storetest"
)

var _ mcpgate.Local = (*connector.Connector)(nil)

// ledger is a Runtime over the reference store, whose policy inherits from the catalogue and whose look-ups are the connector's.
type ledger struct {
	*deed.Runtime
	api   *connector.Connector
	clock *storetest.Clock
	tool  deed.Tool
}

func newLedger(t *testing.T, api *connector.Connector, tool deed.Tool, entry string) *ledger {
	t.Helper()
	file := "tenant: acme\nconnectors: {" + tool.Upstream() + ": {http: {account: \"" + api.Account() + "\"}}}\ntools:\n  " + string(tool) + ": " + entry + "\n  api/head_object: {effect: read_only}\n"
	config, err := policy.ParseWith("deed.yaml", []byte(file), policy.Options{Catalogue: connector.CatalogueEntry})
	if err != nil {
		t.Fatal(err)
	}
	clock := storetest.NewClock(time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC))
	rt, err := deed.New(deed.Options{Store: storetest.NewMemory(clock), Clock: clock, Policy: config.Policy(), Reconciler: api})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Close(context.Background()) })
	return &ledger{rt, api, clock, tool}
}

var operator = deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightCall, deed.RightRead, deed.RightResolve}}

// call runs the tool under a key, as a gateway does.
func (l *ledger) call(t *testing.T, key, args string) deed.Answer {
	t.Helper()
	answer, g, err := l.Claim(t.Context(), deed.Call{Principal: operator, Tool: l.tool, Key: deed.OperationKey(key), Arguments: []byte(args)})
	if err != nil {
		t.Fatal(err)
	}
	if g == nil {
		return answer
	}
	answer, err = l.Settle(t.Context(), g, l.api.Call(t.Context(), l.tool.Name(), g, g.Arguments))
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// cutter passes requests on and breaks the connection instead of the answers that lose says.
type cutter struct {
	*httptest.Server
	mu       sync.Mutex
	lose     func(r *http.Request) bool
	requests int
	replayed int
}

func cut(t *testing.T, to string) *cutter {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{lose: func(*http.Request) bool { return false }}
	transport := &http.Transport{}
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			if r.Request.Method != http.MethodGet && r.Request.Method != http.MethodHead {
				c.requests++
			}
			if r.Header.Get("Idempotent-Replayed") == "true" {
				c.replayed++
			}
			if c.lose(r.Request) {
				panic(http.ErrAbortHandler)
			}
			return nil
		},
	}
	c.Server = httptest.NewServer(proxy)
	c.Config.ErrorLog = nil
	t.Cleanup(func() { c.Close(); transport.CloseIdleConnections() })
	return c
}

func (c *cutter) loses(lose func(r *http.Request) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lose = lose
}

func (c *cutter) counts() (requests, replayed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests, c.replayed
}
