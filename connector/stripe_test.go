// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/test/installed"
	"github.com/deed-run/deed/test/process"
)

// stripe starts a server that honours keys and counts refunds.
func stripe(t *testing.T) string {
	t.Helper()
	address := process.FreeAddress(t)
	_, port, _ := strings.Cut(address, ":")
	command := exec.Command(installed.Node(t), installed.Script(t, "stripe-stateful-mock", "dist", "cli.js"))
	command.Env = append(os.Environ(), "PORT="+port, "LOG_LEVEL=warn")
	process.Start(t, command).WaitListening(t, address)
	return "http://" + address
}

const stripeAPI = `headers: {Authorization: "Bearer sk_test_deed"}
tools:
  charge: {method: POST, path: /v1/charges, body: form, receipt: {id: /id, require: true}}
  refund: {provider: stripe/refund}
  refunds: {method: GET, path: /v1/refunds, query: {charge: "{charge}", limit: 100}}
`

func charge(t *testing.T, l *ledger) string {
	t.Helper()
	out := l.api.Call(t.Context(), "charge", grant(""), []byte(`{"amount":100000,"currency":"eur","source":"tok_visa"}`))
	if out.Kind != deed.OutcomeSuccess {
		t.Fatalf("charge: %s", out.Message)
	}
	return out.Receipt.RemoteID
}

// refunds are the ids of what was really refunded.
func refunds(t *testing.T, l *ledger, charge string) []string {
	t.Helper()
	out := l.api.Call(t.Context(), "refunds", grant(""), []byte(`{"charge":"`+charge+`"}`))
	var result struct {
		StructuredContent struct {
			Data []struct{ ID string }
		} `json:"structuredContent"`
	}
	if err := json.Unmarshal(out.Result, &result); err != nil || out.Kind != deed.OutcomeSuccess {
		t.Fatalf("refunds: %v %s", err, out.Result)
	}
	var ids []string
	for _, r := range result.StructuredContent.Data {
		ids = append(ids, r.ID)
	}
	return ids
}

func TestFiftyLostRepliesAreFiftyRefunds(t *testing.T) {
	const n = 50
	proxy := cut(t, stripe(t))
	l := newLedger(t, load(t, proxy.URL, stripeAPI), "api/refund", "{provider: stripe/refund}")
	of := charge(t, l)
	keys := func(i int) (string, string) {
		return fmt.Sprintf("refund-order-1042-part-%03d", i), fmt.Sprintf(`{"charge":%q,"amount":%d}`, of, 100+i)
	}
	before, _ := proxy.counts()
	proxy.loses(func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == "/v1/refunds" })
	for i := range n {
		key, args := keys(i)
		if answer := l.call(t, key, args); answer.Effective != deed.StatusUncertain {
			t.Fatalf("refund %d is %s: %s", i, answer.Effective, answer.Text)
		}
	}
	if got := len(refunds(t, l, of)); got != n {
		t.Fatalf("%d refunds after the replies were lost, want %d", got, n)
	}
	proxy.loses(func(*http.Request) bool { return false })
	ids := map[string]bool{}
	for i := range n {
		key, args := keys(i)
		answer := l.call(t, key, args)
		if answer.Decision != deed.Execute || answer.Effective != deed.StatusCommitted {
			t.Fatalf("refund %d: %s, %s, %s: %s", i, answer.Decision, answer.Reason, answer.Effective, answer.Text)
		}
		receipt := answer.Operation.Receipt()
		if receipt == nil || receipt.Attempt != 2 || receipt.RemoteSystem != "stripe" {
			t.Fatalf("refund %d: receipt %+v", i, receipt)
		}
		ids[receipt.RemoteID] = true
		if again := l.call(t, key, args); again.Decision != deed.Replay {
			t.Fatalf("refund %d again: %s, %s", i, again.Decision, again.Reason)
		}
	}
	made := refunds(t, l, of)
	for _, id := range made {
		if !ids[id] {
			t.Errorf("refund %s has no receipt", id)
		}
	}
	requests, replayed := proxy.counts()
	if len(made) != n || len(ids) != n || replayed != n || requests-before != 2*n {
		t.Errorf("%d refunds, %d receipts, %d replay headers, %d requests; want %d, %d, %d, %d", len(made), len(ids), replayed, requests-before, n, n, n, 2*n)
	}
}

func TestARefundIsFoundByItsMarker(t *testing.T) {
	proxy := cut(t, stripe(t))
	l := newLedger(t, load(t, proxy.URL, stripeAPI), "api/refund", "{provider: stripe/refund}")
	of := charge(t, l)
	proxy.loses(func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == "/v1/refunds" })
	answer := l.call(t, "refund-order-1042-first", fmt.Sprintf(`{"charge":%q,"amount":100}`, of))
	if answer.Effective != deed.StatusUncertain {
		t.Fatalf("%s: %s", answer.Effective, answer.Text)
	}
	finding, err := l.Reconcile(t.Context(), operator, answer.Operation.ID)
	if err != nil {
		t.Fatal(err)
	}
	receipt := finding.Operation.Receipt()
	if finding.Counted != deed.VerdictFound || finding.Operation.Status != deed.StatusCommitted || receipt.EstablishedBy != "reconcile:lookup:find_refund" {
		t.Fatalf("%s (%s): %+v", finding.Counted, finding.Why, receipt)
	}
	if made := refunds(t, l, of); len(made) != 1 || made[0] != receipt.RemoteID {
		t.Errorf("refunds %v, receipt %s", made, receipt.RemoteID)
	}
}

func TestAnotherBodyUnderTheSameKeyIsRefusedByTheProvider(t *testing.T) {
	l := newLedger(t, load(t, stripe(t), stripeAPI), "api/refund", "{provider: stripe/refund}")
	of := charge(t, l)
	const key = "3f1b0c9e-5a3d-4c57-9f0e-0123456789ab"
	if out := l.api.Call(t.Context(), "refund", grant(key), []byte(fmt.Sprintf(`{"charge":%q,"amount":1}`, of))); out.Kind != deed.OutcomeSuccess {
		t.Fatal(out.Message)
	}
	out := l.api.Call(t.Context(), "refund", grant(key), []byte(fmt.Sprintf(`{"charge":%q,"amount":2}`, of)))
	if out.Kind != deed.OutcomeRefused || !out.Final || !strings.Contains(out.Message, "idempotency_error") {
		t.Errorf("%s: %s", out.Kind, out.Message)
	}
}
