// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/httpgate"
)

func TestAnotherSpellingOfThePathEscapesNoRoute(t *testing.T) {
	var effects atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { effects.Add(1) }))
	defer upstream.Close()
	approve := func(rule *deed.Rule) { rule.Approval = &deed.ApprovalRule{} }
	r := build(t, setup{
		upstream: httpgate.Upstream{URL: upstream.URL},
		routes: []httpgate.Route{
			{Method: http.MethodPost, Pattern: "/refunds", Rule: approve}, {Method: http.MethodPost, Pattern: "/orders/{id}/cancel", Rule: approve},
		},
	})
	post := func(path string) int {
		t.Helper()
		req, err := http.NewRequest(http.MethodPost, r.url+path, strings.NewReader("{}"))
		must(t, err)
		req.Header.Set("Idempotency-Key", `"`+key+path+`"`)
		res, err := r.client.Do(req)
		must(t, err)
		must(t, res.Body.Close())
		return res.StatusCode
	}
	for _, path := range []string{
		"/refunds/", "/Refunds", "/REFUNDS/", "/refunds;a=b", "/refunds.json", "/orders/1/cancel/", "/orders/1/Cancel", "/orders%2F1%2Fcancel", "/orders/1/cancel.xml",
	} {
		if status := post(path); status != http.StatusBadRequest {
			t.Errorf("%s: %d", path, status)
		}
	}
	if n := effects.Load(); n != 0 {
		t.Errorf("%d effects without the approval that the route asks for", n)
	}
	if status := post("/orders/1/refund"); status != http.StatusOK || effects.Load() != 1 {
		t.Errorf("what no route names: %d", status)
	}
}

func TestHeadersThatChangeTheRequestStayHere(t *testing.T) {
	names := []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-URL", "X-Rewrite-URL"}
	var seen atomic.Value
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen.Store(r.Header.Clone()) }))
	defer upstream.Close()
	r := build(t, setup{upstream: httpgate.Upstream{URL: upstream.URL}, routes: []httpgate.Route{{Method: http.MethodPost, Pattern: "/orders"}}})
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		req, err := http.NewRequest(method, r.url+"/orders", nil)
		must(t, err)
		req.Header.Set("Idempotency-Key", `"`+key+`"`)
		for _, name := range names {
			req.Header.Set(name, "DELETE")
		}
		res, err := r.client.Do(req)
		must(t, err)
		must(t, res.Body.Close())
		for _, name := range names {
			if got := seen.Load().(http.Header).Get(name); got != "" {
				t.Errorf("%s: %s is %s", method, name, got)
			}
		}
	}
}
