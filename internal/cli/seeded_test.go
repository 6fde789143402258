// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

// seeded is a ledger with one operation of each kind that a person meets, and
// the configuration of its gateway.
type seeded struct {
	t              *testing.T
	config, ledger string
	rt             *deed.Runtime
	ids            map[string]deed.OperationID
}

const seededRules = `# rules of the shop
ledger: sqlite:ledger.db
upstreams:
  pay: {command: [no-such-server]}
budgets:
  refunds: {limit: 100.00, currency: EUR, window: 24h}
tools:
  # what costs money
  pay/refund: {effect: non_idempotent, budget: {name: refunds, amount: /amount, currency: EUR}}
  pay/charge:
    effect: non_idempotent
    failed:
      - {text: "^card expired", final: true} # seen often
  pay/wire: {effect: non_idempotent, approval: required}
`

// probes answers every look-up alike.
type probes struct{ verdict deed.Verdict }

func (p probes) Probe(context.Context, deed.Inquest) (deed.Verdict, error) { return p.verdict, nil }

func seed(t *testing.T) *seeded {
	t.Helper()
	dir := t.TempDir()
	s := &seeded{t: t, config: filepath.Join(dir, "deed.yaml"), ledger: filepath.Join(dir, "ledger.db"), ids: map[string]deed.OperationID{}}
	if err := os.WriteFile(s.config, []byte(seededRules), 0o640); err != nil {
		t.Fatal(err)
	}
	ledger, err := sqlite.Open(t.Context(), s.ledger, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rules := deed.FixedPolicy{}
	for _, name := range []deed.Tool{"pay/charge", "pay/refund", "pay/wire", "pay/batch"} {
		rules[name] = deed.DefaultRule(name)
	}
	refund := rules["pay/refund"]
	refund.GiveUp = time.Hour
	refund.Spend = &deed.SpendRule{
		Budget: deed.Budget{Name: "refunds", Limit: 100_000_000, Currency: "EUR", Window: 24 * time.Hour},
		Amount: func([]byte) (deed.Amount, error) { return 12_500_000, nil },
	}
	rules["pay/refund"] = refund
	wire := rules["pay/wire"]
	wire.Approval = &deed.ApprovalRule{Quorum: 2}
	// As of a gateway that has seen a fence come and go.
	wire.Revision += " fence ev_01KB7Q5W2M9X4T6R8V0C3E5G7H lifted"
	rules["pay/wire"] = wire
	looks := probes{deed.Verdict{Kind: deed.VerdictAbsent, Strategy: "list", Complete: true, Evidence: `{"items":[]}`}}
	if s.rt, err = deed.New(deed.Options{Store: ledger, Policy: rules, Reconciler: looks}); err != nil {
		t.Fatal(err)
	}
	toolError := func(text string) deed.Outcome {
		result, _ := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": true})
		return deed.Outcome{Kind: deed.OutcomeUnknown, Reason: deed.ReasonToolError, Message: text, Result: result, ResultIsError: true}
	}
	s.call("project 7", "pay/charge", toolError("invalid project 7"))
	s.call("project 8", "pay/charge", toolError("invalid project 8"))
	s.call("quota", "pay/charge", toolError("quota exceeded after: invalid project"))
	s.call("lost", "pay/charge", deed.Outcome{Kind: deed.OutcomeUnknown, Reason: deed.ReasonOutcomeUnknown, Message: "invalid project 9"})
	s.call("refused", "pay/charge", deed.Outcome{Kind: deed.OutcomeRefused, Reason: deed.ReasonRefused, Final: true, Message: "card expired"})
	s.call("batch", "pay/batch", deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: "b_1", RemoteURL: "https://pay.example/b_1", Items: []deed.Item{
		{ID: "a", Outcome: deed.OutcomeSuccess, RemoteID: "re_1"}, {ID: "b", Outcome: deed.OutcomeRefused, Reason: "no such order"},
	}}})
	s.call("refund", "pay/refund", deed.Outcome{Kind: deed.OutcomeUnknown, Reason: deed.ReasonOutcomeUnknown, Message: "socket hang up"})
	operator := deed.Principal{Tenant: "default", Actor: "ada", Rights: []deed.Right{deed.RightResolve, deed.RightRead}}
	if _, err := s.rt.Reconcile(t.Context(), operator, s.ids["refund"]); err != nil {
		t.Fatal(err)
	}
	s.call("wire", "pay/wire", deed.Outcome{})
	if err := errors.Join(s.rt.Close(t.Context()), ledger.Close()); err != nil {
		t.Fatal(err)
	}
	return s
}

// call makes one call and lets it end.
func (s *seeded) call(name string, tool deed.Tool, out deed.Outcome) {
	s.t.Helper()
	arguments, _ := json.Marshal(map[string]any{"about": name, "amount": 12.5})
	answer, grant, err := s.rt.Claim(s.t.Context(), deed.Call{
		Principal: deed.Principal{Tenant: "default", Actor: "support", Rights: []deed.Right{deed.RightCall}},
		Tool:      tool, Key: deed.OperationKey("seed:" + tool.Name() + ":" + hyphened(name) + ":first"), Arguments: arguments, Meta: map[string]string{"run": "r-17"},
	})
	if err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
	s.ids[name] = answer.Operation.ID
	if grant == nil {
		return
	}
	if _, err := s.rt.Settle(s.t.Context(), grant, out); err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
}

func hyphened(name string) string {
	out := []byte(name)
	for i, c := range out {
		if c == ' ' {
			out[i] = '-'
		}
	}
	return string(out)
}

// deed runs a command under the configuration and returns what it prints.
func (s *seeded) deed(args ...string) string {
	s.t.Helper()
	return deedCommand(s.t, append(args, "--config", s.config)...)
}

func (s *seeded) show(name string, more ...string) string {
	s.t.Helper()
	return s.deed(append([]string{"ops", "show", string(s.ids[name])}, more...)...)
}
