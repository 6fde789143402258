// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// What the provider says that a request of a route did cost is booked, as it is
// for a tool.
func TestWhatARequestOfARouteDidCostIsBooked(t *testing.T) {
	defer goleak.VerifyNone(t)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"ch_1","charged":75}`)
	}))
	defer provider.Close()
	d := boot(t, configuration(t, t.TempDir(), map[string]any{
		"http":    map[string]any{"pay": map[string]any{"url": provider.URL}},
		"budgets": map[string]any{"calls": map[string]any{"limit": 100, "currency": "EUR", "window": "24h"}},
		"routes": map[string]any{"POST pay/charge": map[string]any{
			"budget": map[string]any{"name": "calls", "amount": "/body/amount", "actual": "/charged"},
		}},
	}))
	defer func() {
		if err := d.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+d.Address()+"/http/pay/charge", strings.NewReader(`{"amount":5}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "charge:order-1042:first")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.Header.Get("Deed-Status") != "committed" {
		t.Fatalf("it is %s, %v", resp.Header.Get("Deed-Status"), err)
	}
	budgets, err := clientOf(t, d).Budgets(t.Context())
	if err != nil || len(budgets.Budgets) != 1 {
		t.Fatalf("%+v, %v", budgets, err)
	}
	if spent := budgets.Budgets[0].Spent; spent != "75.00" {
		t.Errorf("the provider charged 75, the budget counts %s", spent)
	}
}
