// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A condition of a route that reads judges the request, as at one that changes
// something: docs/http.md recommends one against _method in a query.
func TestDenyAtARouteThatReadsJudgesTheRequest(t *testing.T) {
	var asked atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(w, r.Body)
	}))
	defer api.Close()
	d := boot(t, configuration(t, t.TempDir(), map[string]any{
		"http": map[string]any{"pay": map[string]any{"url": api.URL, "account": "live-42"}},
		"routes": map[string]any{
			"GET pay/accounts/*": map[string]any{"deny": map[string]any{"when": "has(args.query) && has(args.query._method)", "reason": "no method in a query"}},
			"GET pay/vaults/*":   map[string]any{"deny": map[string]any{"when": "args.path['1'] == 'root'", "reason": "not the root vault"}},
			"POST pay/search":    map[string]any{"effect": "read_only", "deny": map[string]any{"when": "args.body.of == 'everyone'", "reason": "not of everyone"}},
		},
	}))
	defer func() { _ = d.Stop(t.Context()) }()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	let := 0
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/accounts/42", "", 200},
		{"GET", "/accounts/42?_method=DELETE", "", 403},
		{"HEAD", "/accounts/42?_method=DELETE", "", 403},
		{"GET", "/accounts/42/?_method=DELETE", "", 400},
		{"GET", "/accounts/42?q=%FC", "", 400},
		{"GET", "/vaults/42", "", 200},
		{"HEAD", "/vaults/42", "", 200},
		{"GET", "/vaults/root", "", 403},
		{"GET", "/vaults/%72oot", "", 403},
		{"GET", "/elsewhere?q=%FC", "", 200},
		{"POST", "/search", `{"of":"ann"}`, 200},
		{"POST", "/search", `{"of":"everyone"}`, 403},
		{"POST", "/search", `{}`, 403},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+d.Address()+"/http/pay"+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		if c.body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != c.status {
			t.Errorf("%s %s is answered %d, want %d: %s", c.method, c.path, resp.StatusCode, c.status, got)
		}
		if c.status == 200 {
			let++
			if c.method == "POST" && string(got) != c.body {
				t.Errorf("the API was sent %q, want %q", got, c.body)
			}
		}
	}
	if n := asked.Load(); n != int64(let) {
		t.Errorf("%d requests arrived, want %d", n, let)
	}
}
