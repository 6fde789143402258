// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcomes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/test/installed"
	"github.com/deed-run/deed/test/process"
)

// startStripe starts a stand-in for Stripe that honours keys and counts refunds.
func startStripe(t *testing.T) string {
	t.Helper()
	address := process.FreeAddress(t)
	_, port, _ := strings.Cut(address, ":")
	command := exec.Command(installed.Node(t), installed.Script(t, "stripe-stateful-mock", "dist", "cli.js"))
	command.Env = append(os.Environ(), "PORT="+port, "LOG_LEVEL=warn")
	process.Start(t, command).WaitListening(t, address)
	return "http://" + address
}

func payments(base string) map[string]any {
	return map[string]any{
		"connectors": map[string]any{"pay": map[string]any{"http": map[string]any{
			"base_url": base, "allow_private": true, "headers": map[string]any{"Authorization": "Bearer sk_test_deed"},
			"tools": map[string]any{
				"charge":  map[string]any{"method": "POST", "path": "/v1/charges", "body": "form", "receipt": map[string]any{"id": "/id", "require": true}},
				"refund":  map[string]any{"provider": "stripe/refund"},
				"refunds": map[string]any{"method": "GET", "path": "/v1/refunds", "query": map[string]any{"charge": "{charge}", "limit": 100}},
			},
		}}},
		"tools": map[string]any{
			"pay/charge": map[string]any{"effect": "non_idempotent"},
			"pay/refund": map[string]any{"provider": "stripe/refund"},
		},
		"defaults": map[string]any{"lease": "5s"},
	}
}

// TestLostRefundsAreRefundedOnce loses the replies of refunds at a stand-in for
// Stripe. Repeated calls present the same bytes under the same key; a refund
// that nobody asks for again is found by its mark.
func TestLostRefundsAreRefundedOnce(t *testing.T) {
	t.Parallel()
	const n = 3
	between := newHop(t, startStripe(t))
	g := newGateway(t, faultkit.HTTP, "pay", payments(between.URL))
	g.start()
	charged := g.call("charge", "charge:order-1042:first", map[string]any{"amount": 100000, "currency": "eur", "source": "tok_visa"})
	of := charged.RemoteID()
	if of == "" {
		t.Fatalf("charge: %s: %s", charged, charged.result.Raw)
	}
	refund := func(i int) note {
		return g.call("refund", fmt.Sprintf("refund:order-1042:part-%d", i), map[string]any{"charge": of, "amount": 100 + i})
	}
	// Look-ups fail as well, so that only the key can tell.
	between.lose(func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v1/refunds") })
	for i := range n {
		if lost := refund(i); lost.Status != "uncertain" {
			t.Fatalf("refund %d: %s", i, lost)
		}
	}
	between.lose(func(r *http.Request) bool { return r.URL.Path == "/v1/refunds" && r.Method == http.MethodGet })
	for i := range n {
		if again := refund(i); again.Status != "committed" || again.Decision != "execute" || again.Attempt != 2 {
			t.Errorf("refund %d again: %s in attempt %d", i, again, again.Attempt)
		}
	}
	if got := between.replays(); got != n {
		t.Errorf("%d replay headers, want %d", got, n)
	}
	between.lose(func(r *http.Request) bool { return r.Method == http.MethodPost })
	if lost := refund(n); lost.Status != "uncertain" && lost.Status != "committed" {
		t.Fatalf("refund %d: %s", n, lost)
	}
	key := fmt.Sprintf("refund:order-1042:part-%d", n)
	await(t, "a look-up finds the last refund", func() bool { return g.operations()[key].Status == deed.StatusCommitted })
	if by := g.operations()[key].by(); !strings.HasPrefix(by, "reconcile:") {
		t.Errorf("the last refund is established by %s", by)
	}
	var list struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(g.call("refunds", "", map[string]any{"charge": of}).result.Structured, &list); err != nil || len(list.Data) != n+1 {
		t.Errorf("%d refunds, want %d: %v", len(list.Data), n+1, err)
	}
}
