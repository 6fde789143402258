// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/httpgate"
)

// The upstream's address is an operator's: callers read what is established.
func TestACallerNeverReadsTheUpstreamsAddress(t *testing.T) {
	for name, c := range map[string]struct {
		broken func(t *testing.T) string
		status int
		detail string
	}{
		"it does not speak TLS": {plainly, 502, "it was not applied: nothing of it left; ask again later, under the same key (it could not be handed to the upstream)"},
		"the connection is cut": {cutting, 409,
			"it was sent and may have happened; do not repeat it under another key: look the effect up and resolve the operation (there was no whole answer)"},
	} {
		t.Run(name, func(t *testing.T) {
			var log logged
			address := c.broken(t)
			r := build(t, setup{routes: charge(nil), upstream: httpgate.Upstream{URL: address + "/inner/api"}, edit: func(o *httpgate.Options) { o.Log = log.add }})
			g := r.charge(order1, "Idempotency-Key", key)
			g.wants(t, c.status)
			if have := g.member(t, "detail"); have != c.detail {
				t.Errorf("the detail is %q, want %q", have, c.detail)
			}
			again := r.charge(order1, "Idempotency-Key", key)
			read := r.send("GET", "/tools/pay.charge?q=1", "")
			read.wants(t, 502)
			for what, answer := range map[string]got{"first": g, "read": read} {
				if have := answer.member(t, "instance"); have != "/tools/pay.charge" {
					t.Errorf("the instance of the %s answer is %q, want the path that was asked", what, have)
				}
			}
			host := hostOf(t, address)
			for what, body := range map[string]string{"first": g.body, "repeat": again.body, "read": read.body} {
				if strings.Contains(body, host) {
					t.Errorf("the %s answer names %s: %s", what, host, body)
				}
			}
			view, err := r.store.Load(context.Background(), deed.Scope{Tenant: "acme", ID: deed.OperationID(g.header.Get("Deed-Operation"))})
			must(t, err)
			if !strings.Contains(view.Operation.Message, host) {
				t.Errorf("the record does not say where it failed: %q", view.Operation.Message)
			}
			if text := log.text(); !strings.Contains(text, ": no answer: ") || !strings.Contains(text, host) {
				t.Errorf("the log of the read is %q", text)
			}
		})
	}
}

// In observe mode there is no record, so the log has the address.
func TestAnObservedRequestThatFailsIsLogged(t *testing.T) {
	var log logged
	address := plainly(t)
	r := build(t, setup{
		routes: charge(nil), upstream: httpgate.Upstream{URL: address}, edit: func(o *httpgate.Options) { o.Log = log.add },
		rule: func(rule *deed.Rule) { rule.Mode = deed.ModeObserve },
	})
	g := r.charge(order1)
	g.wants(t, 502)
	host := hostOf(t, address)
	if strings.Contains(g.body, host) {
		t.Errorf("the answer names %s: %s", host, g.body)
	}
	if text := log.text(); !strings.HasPrefix(text, "pay/POST /tools/pay.charge: it could not be handed to the upstream; behind the gateway: ") || !strings.Contains(text, host) {
		t.Errorf("the log is %q", text)
	}
}

// plainly is the address of an upstream with which no handshake succeeds.
func plainly(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "http:", "https:", 1) + "/inner"
}

func cutting(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(server.Close)
	return server.URL + "/inner"
}

func hostOf(t *testing.T, address string) string {
	t.Helper()
	at, err := url.Parse(address)
	must(t, err)
	return at.Host
}

// logged keeps a log.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, text)
}

func (l *logged) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}
