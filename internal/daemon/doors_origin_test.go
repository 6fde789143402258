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

// What a browser sends of itself.
type visitor struct{ host, origin, site, token string }

func (v visitor) ask(t *testing.T, method, address string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if v.host != "" {
		req.Host = v.host
	}
	for name, value := range map[string]string{
		"Origin": v.origin, "Sec-Fetch-Site": v.site, "Authorization": v.token,
		"Content-Type": "application/json", "Idempotency-Key": "refund:order-1042:first", "Mcp-Method": "tools/list",
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// A page whose name was pointed at this machine (DNS rebinding) is of one origin with
// what it asks, so that only the Host header tells. A GET of a foreign page goes out
// under the upstream's credentials, and a route may say that it changes things.
func TestNoForeignPageAndNoForeignNameOpensADoor(t *testing.T) {
	var asked atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Access-Control-Allow-Origin", "*")
		_, _ = io.WriteString(w, "private")
	}))
	defer api.Close()
	d := boot(t, configuration(t, t.TempDir(), map[string]any{
		"http":    map[string]any{"pay": map[string]any{"url": api.URL, "account": "live-42", "headers": map[string]any{"Authorization": "Bearer of-the-gateway"}}},
		"routes":  map[string]any{"POST pay/refunds": map[string]any{}, "GET pay/trigger": map[string]any{"effect": "non_idempotent", "key": "optional"}},
		"console": map[string]any{"allowed_hosts": []string{"deed.example"}},
	}))
	defer func() { _ = d.Stop(t.Context()) }()
	at := "http://" + d.Address()
	for name, v := range map[string]visitor{
		"a name that points here":               {host: "evil.example:7391", origin: "http://evil.example:7391", site: "same-origin"},
		"a name that points here, and no page":  {host: "evil.example:7391"},
		"a page of another origin":              {origin: "https://evil.example", site: "cross-site"},
		"a link or picture of another site":     {site: "cross-site"},
		"a proxy's caller, whom nobody asks in": {host: "deed.example"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/http/pay/accounts", "/http/pay/trigger", "/mcp/shop"} {
				if status := v.ask(t, http.MethodGet, at+path); status != http.StatusForbidden {
					t.Errorf("GET %s is answered %d", path, status)
				}
			}
			for _, path := range []string{"/http/pay/refunds", "/mcp/shop", "/v1/claims"} {
				if status := v.ask(t, http.MethodPost, at+path); status != http.StatusForbidden {
					t.Errorf("POST %s is answered %d", path, status)
				}
			}
		})
	}
	t.Run("a page of this machine asks for what changes things", func(t *testing.T) {
		page := visitor{origin: "http://localhost:3000", site: "cross-site"}
		for path, method := range map[string]string{"/http/pay/trigger": http.MethodGet, "/http/pay/refunds": http.MethodPost} {
			if status := page.ask(t, method, at+path); status != http.StatusForbidden {
				t.Errorf("%s is answered %d", path, status)
			}
		}
	})
	if n := asked.Load(); n != 0 {
		t.Errorf("strangers made %d requests under the upstream's credentials", n)
	}
	for name, v := range map[string]visitor{
		"a program":              {},
		"a page of the gateway":  {origin: at, site: "same-origin"},
		"an address typed in":    {site: "none"},
		"a page of this machine": {origin: "http://localhost:3000", site: "cross-site"},
	} {
		if status := v.ask(t, http.MethodGet, at+"/http/pay/accounts"); status != http.StatusOK {
			t.Errorf("%s is answered %d", name, status)
		}
	}
}

// A proxy on this machine passes the name on that the gateway is known by.
func TestACallerWithATokenComesUnderANameThatWasConfigured(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer api.Close()
	d := boot(t, configuration(t, t.TempDir(), map[string]any{
		"http":    map[string]any{"pay": map[string]any{"url": api.URL, "account": "live-42"}},
		"console": map[string]any{"allowed_hosts": []string{"deed.example"}},
		"auth":    map[string]any{"tokens": []any{map[string]any{"sha256": hashOf("caller"), "tenant": "default", "actor": "ann", "rights": []string{"call", "read"}}}},
	}))
	defer func() { _ = d.Stop(t.Context()) }()
	for _, path := range []string{"/http/pay/accounts", "/v1/operations"} {
		for host, want := range map[string]int{"deed.example": 200, "evil.example": 403} {
			v := visitor{host: host, token: "Bearer caller"}
			if status := v.ask(t, http.MethodGet, "http://"+d.Address()+path); status != want {
				t.Errorf("%s under %s is answered %d", path, host, status)
			}
		}
	}
	if status := (visitor{host: "deed.example", token: "Bearer caller"}).ask(t, http.MethodPost, "http://"+d.Address()+"/mcp/shop"); status == http.StatusForbidden {
		t.Errorf("/mcp is answered %d", status)
	}
}
