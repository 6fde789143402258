// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/deed-run/deed/httpgate"
)

// docs/problems.md: not-sent means that nothing of it left, and that it is repeated.
func TestWhatArrivedIsNotCalledNotSent(t *testing.T) {
	var arrived atomic.Int64
	breaking := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived.Add(1)
		panic(http.ErrAbortHandler)
	}))
	defer breaking.Close()
	const closed = "http://127.0.0.1:0" // nobody is ever in
	refunds := []httpgate.Route{{Method: http.MethodPost, Pattern: "/refunds"}}
	for name, c := range map[string]struct {
		setup
		method, url string
		arrives     int64
		status      int
		kind        string
	}{
		"the unnamed pass, and it arrived":   {setup{edit: passUnnamed}, "POST", breaking.URL, 1, 409, "#no-answer-from-upstream"},
		"only observed, and it arrived":      {setup{routes: refunds, rule: observe}, "POST", breaking.URL, 1, 409, "#no-answer-from-upstream"},
		"a read that arrived":                {setup{routes: refunds}, "GET", breaking.URL, 1, 502, "#no-answer-from-upstream"},
		"the unnamed pass, and nobody is in": {setup{edit: passUnnamed}, "POST", closed, 0, 502, "#not-sent"},
		"only observed, and nobody is in":    {setup{routes: refunds, rule: observe}, "POST", closed, 0, 502, "#not-sent"},
		"a read, and nobody is in":           {setup{routes: refunds}, "GET", closed, 0, 502, "#not-sent"},
	} {
		t.Run(name, func(t *testing.T) {
			arrived.Store(0)
			edit := c.edit
			c.upstream.URL = c.url
			c.edit = func(o *httpgate.Options) {
				o.Log = func(string) {}
				if edit != nil {
					edit(o)
				}
			}
			// Without a key it would be denied, so that observing records nothing.
			got := build(t, c.setup).send(c.method, "/refunds", "")
			got.wants(t, c.status)
			if kind, _ := got.member(t, "type").(string); !strings.HasSuffix(kind, c.kind) {
				t.Errorf("the type is %q, want %s: %s", kind, c.kind, got.body)
			}
			if n := arrived.Load(); n != c.arrives {
				t.Errorf("%d requests arrived, want %d", n, c.arrives)
			}
		})
	}
}
