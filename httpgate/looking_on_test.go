// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/httpgate"
)

func observe(rule *deed.Rule) { rule.Mode = deed.ModeObserve }

// honouring is an API that does one thing for one key. It tells the keys that it saw.
func honouring(t *testing.T, header string) (url string, seen func() []string) {
	var mu sync.Mutex
	var keys []string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, r.Header.Get(header))
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return keys
	}
}

// An API that honours the caller's key did the effect once before the gate stood in
// front of it, and does it once now.
func TestAGateThatOnlyLooksOnLeavesTheCallersKey(t *testing.T) {
	stripe := []httpgate.Route{{Method: "POST", Pattern: "/charges", Profile: "stripe"}}
	for name, s := range map[string]setup{
		"observing": {routes: stripe, rule: observe},
		"observing, with a provider key": {routes: []httpgate.Route{{Method: "POST", Pattern: "/charges", Profile: "stripe", Rule: func(rule *deed.Rule) {
			rule.ProviderKey = &deed.ProviderKeyRule{}
		}}}, rule: observe},
		"observing what cannot be recorded": {routes: []httpgate.Route{{Method: "POST", Pattern: "/charges", Profile: "ucp"}}, rule: observe},
		"what no route names":               {edit: passUnnamed},
	} {
		for _, header := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
			t.Run(name+", "+header, func(t *testing.T) {
				var seen func() []string
				s.upstream.URL, seen = honouring(t, header)
				r := build(t, s)
				for range 2 {
					r.send("POST", "/charges", order1, header, key).wants(t, 200)
				}
				if diff := cmp.Diff([]string{key, key}, seen()); diff != "" {
					t.Errorf("the keys that the API saw (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// A route that derives its keys, or knows repeats by what they are, goes by that.
func TestTheOtherNameOfTheHeaderNamesNothingWhereTheRequestDoes(t *testing.T) {
	for name, route := range map[string]httpgate.Route{
		"derived": {Method: "POST", Pattern: "/charges", Key: deed.KeyRule{From: []string{"/body/order_id"}}},
		"twins":   {Method: "POST", Pattern: "/charges", Key: deed.KeyRule{Need: deed.NeedOptional}, Twins: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			url, seen := honouring(t, "X-Idempotency-Key")
			r := build(t, setup{upstream: httpgate.Upstream{URL: url}, routes: []httpgate.Route{route}})
			r.send("POST", "/charges", order1, "X-Idempotency-Key", key).wants(t, 200, "Deed-Decision", "execute")
			r.send("POST", "/charges", order1, "X-Idempotency-Key", other).wants(t, 200, "Deed-Decision", "replay")
			if n := len(seen()); n != 1 {
				t.Errorf("%d charges", n)
			}
		})
	}
}

func TestAGateThatGuardsKeepsTheCallersKeyAndTakesItUnderBothNames(t *testing.T) {
	for _, header := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		t.Run(header, func(t *testing.T) {
			url, seen := honouring(t, header)
			r := build(t, setup{upstream: httpgate.Upstream{URL: url}, routes: []httpgate.Route{{Method: "POST", Pattern: "/charges", Profile: "stripe"}}})
			r.send("POST", "/charges", order1, header, key).wants(t, 200, "Deed-Decision", "execute")
			r.send("POST", "/charges", order1, header, key).wants(t, 200, "Deed-Decision", "replay")
			r.send("POST", "/charges", order1, "Idempotency-Key", key, "X-Idempotency-Key", key).wants(t, 200, "Deed-Decision", "replay")
			r.send("POST", "/charges", order1, "Idempotency-Key", key, "X-Idempotency-Key", other).wants(t, 200, "Deed-Decision", "replay")
			if diff := cmp.Diff([]string{""}, seen()); diff != "" {
				t.Errorf("the keys that the API saw (-want +got):\n%s", diff)
			}
		})
	}
}

// In observe mode everything runs, also what carries a key that cannot be read.
func TestObservingRunsWhatCarriesABadKey(t *testing.T) {
	for name, c := range map[string][3]string{
		"a string without its end": {"ietf", "Idempotency-Key", `"order-1`}, "no UUID": {"ucp", "Idempotency-Key", "order-1"}, "a bad fact": {"ietf", "Deed-Meta-Run", "\xfc"},
	} {
		t.Run(name, func(t *testing.T) {
			effects := 0
			h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { effects++ })
			r := build(t, setup{handler: h, routes: []httpgate.Route{{Method: "POST", Pattern: "/charges", Profile: c[0]}}, rule: observe})
			r.send("POST", "/charges", order1, c[1], c[2]).wants(t, 200, "Deed-Would-Be", "denied")
			if effects != 1 {
				t.Errorf("%d effects", effects)
			}
		})
	}
}

// A spelling that no route refuses under observation is not refused.
func TestObservingRefusesNoOtherSpelling(t *testing.T) {
	effects := 0
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { effects++ })
	r := build(t, setup{handler: h, routes: []httpgate.Route{{Method: "POST", Pattern: "/charges"}}, rule: observe})
	r.send("POST", "/charges/", order1, "Idempotency-Key", key).wants(t, 200)
	if effects != 1 {
		t.Errorf("%d effects", effects)
	}
}

// What the API says is what the caller hears while the gate only looks on, also where
// it makes a doubt of it.
func TestAGateThatOnlyLooksOnPassesErrorsOn(t *testing.T) {
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", "req-7")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"error":"come again"}`))
	}))
	defer failing.Close()
	for name, c := range map[string]struct {
		deny    bool
		wouldBe string
	}{
		"what would have run": {false, ""},
		"what would not":      {true, "denied"},
	} {
		t.Run(name, func(t *testing.T) {
			r := build(t, setup{
				routes: []httpgate.Route{{Method: "POST", Pattern: "/charges"}}, upstream: httpgate.Upstream{URL: failing.URL},
				rule: func(rule *deed.Rule) {
					rule.Mode = deed.ModeObserve
					if c.deny {
						rule.Deny = func([]byte, deed.Principal) string { return "not today" }
					}
				},
			})
			got := r.send("POST", "/charges", order1, "Idempotency-Key", key)
			got.wants(t, http.StatusServiceUnavailable)
			if got.body != `{"error":"come again"}` || got.header.Get("X-Request-Id") != "req-7" || got.header.Get("Deed-Would-Be") != c.wouldBe || got.header.Get("Deed-Status") != "uncertain" {
				t.Errorf("%s\n%v", got.body, got.header)
			}
		})
	}
}
