// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/httpgate"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/policy"
)

// refunds is a REST API that makes a new refund of every request.
func refunds(t *testing.T) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var made atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer of-the-gateway" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"id":"re_%d","asked":%s}`, made.Add(1), body)
	}))
	t.Cleanup(api.Close)
	return api, &made
}

func TestAProxiedRouteHappensOnceAcrossARestart(t *testing.T) {
	defer goleak.VerifyNone(t)
	api, made := refunds(t)
	defer api.Close()
	config := configuration(t, t.TempDir(), map[string]any{
		"http":   map[string]any{"payments": map[string]any{"url": api.URL, "account": "live-42", "headers": map[string]any{"Authorization": "Bearer of-the-gateway"}}},
		"routes": map[string]any{"POST payments/v1/refunds": map[string]any{"profile": "stripe", "key": "required"}},
	})
	refund := func(address, key, body string) (int, string, http.Header) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/http/payments/v1/refunds", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if key != "" {
			req.Header.Set("Idempotency-Key", key)
		}
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(answer), resp.Header
	}

	d := boot(t, config)
	status, first, header := refund(d.Address(), "refund-1042", `{"order":1042}`)
	if status != http.StatusCreated || header.Get("Idempotent-Replayed") != "" {
		t.Fatalf("the first answer is %d %s %v", status, first, header)
	}
	if err := d.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	d = boot(t, config)
	status, again, header := refund(d.Address(), "refund-1042", `{"order": 1042}`)
	if status != http.StatusCreated || again != first || header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repeat is answered %d %s %v", status, again, header)
	}
	if status, answer, _ := refund(d.Address(), "refund-1042", `{"order": 1043}`); status != http.StatusBadRequest || !strings.Contains(answer, "idempotency_error") {
		t.Errorf("another body under the key is answered %d %s", status, answer)
	}
	if status, answer, _ := refund(d.Address(), "", `{"order": 1044}`); status != http.StatusBadRequest {
		t.Errorf("a request without a key is answered %d %s", status, answer)
	}
	if got := get(t, d, "/http/other/x"); !strings.HasPrefix(got, "404 nothing of this name is configured") {
		t.Errorf("an unknown name is answered %s", got)
	}
	if err := d.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if made.Load() != 1 {
		t.Errorf("%d refunds were made", made.Load())
	}
}

func TestAnOperationOfARouteIsNotRunForAPersonAndSaysWhoseItIs(t *testing.T) {
	defer goleak.VerifyNone(t)
	var asked atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
		panic(http.ErrAbortHandler)
	}))
	defer api.Close()
	config := configuration(t, t.TempDir(), map[string]any{
		"http":   map[string]any{"payments": map[string]any{"url": api.URL, "account": "live-42"}},
		"routes": map[string]any{"POST payments/v1/refunds": map[string]any{"key": "required"}},
	})
	d := boot(t, config)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+d.Address()+"/http/payments/v1/refunds", strings.NewReader(`{"order":1042}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "refund:order-1042:first")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if err := d.Stop(t.Context()); err != nil || resp.Header.Get("Deed-Status") != "uncertain" {
		t.Fatalf("it is %s, and stopping: %v", resp.Header.Get("Deed-Status"), err)
	}

	core, err := daemon.Open(t.Context(), daemon.Options{Config: config, Ledger: daemon.Place(config.Ledger.Path), Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	who := deed.Principal{Tenant: "default", Actor: "ada", Rights: []deed.Right{deed.RightRead, deed.RightResolve}}
	op, err := core.Runtime.Get(t.Context(), who, deed.OperationID(resp.Header.Get("Deed-Operation")))
	if err != nil {
		t.Fatal(err)
	}
	explained, err := policy.Explain(config, op.Tool, []byte(`{"body":{"order":1042}}`))
	if err != nil || explained.Fingerprint != op.Fingerprint {
		t.Errorf("it is explained as %s %s, %v; the gateway recorded %s", explained.Fingerprint, explained.Canonical, err, op.Fingerprint)
	}
	var refused *deed.RefusedError
	if _, err := core.RunStored(t.Context(), who, op); !errors.As(err, &refused) || !strings.HasSuffix(err.Error(),
		": running is refused while the operation is uncertain; requests of an HTTP route are sent for their callers alone; nothing was sent; where an attempt is allowed, the caller's next request under the same key makes it; of an uncertain one, look at the API and say what happened: deed ops reconcile, where the route is looked up, or deed ops resolve") {
		t.Errorf("running it: %v", err)
	}
	if err := core.Close(t.Context()); err != nil || asked.Load() != 1 {
		t.Errorf("the API was asked %d times; closing: %v", asked.Load(), err)
	}
}

// Configuration and gate know independently who shares the keys of a profile.
func TestProfilesShareKeysAsTheGateDoes(t *testing.T) {
	for _, profile := range httpgate.Profiles() {
		for _, written := range []deed.KeyScope{"", deed.ScopeTenant, deed.ScopeActor} {
			entry := map[string]any{"profile": profile}
			if written != "" {
				entry["scope"] = written
			}
			config := configuration(t, t.TempDir(), map[string]any{
				"http":   map[string]any{"pay": map[string]any{"url": "https://api.example"}},
				"routes": map[string]any{"POST pay/x": entry},
			})
			routes, err := httpgate.NewRoutes("pay", []httpgate.Route{{Method: "POST", Pattern: "/x", Profile: profile, Scope: written}})
			if err != nil {
				t.Fatal(err)
			}
			const tool = "pay/POST /x"
			want := routes.Policy(deed.FixedPolicy{}).Rule(tool, deed.ToolFacts{}).Scope
			if have := config.Policy().Rule(tool, deed.ToolFacts{}).Scope; have != want {
				t.Errorf("%s, written %q: the configuration says %s, the gate %s", profile, written, have, want)
			}
		}
	}
}
