// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

// TestTheWholeExampleIsUnderstood reads a file that uses every feature at once.
func TestTheWholeExampleIsUnderstood(t *testing.T) {
	env := func(name string) string {
		return map[string]string{"CRM_TOKEN": "t0p-secret", "KEY": "sk-live"}[name]
	}
	config, err := policy.Load(filepath.Join("testdata", "whole.yaml"), env)
	if err != nil {
		t.Fatal(err)
	}
	rule := config.Policy().Rule("tickets/create_ticket", deed.ToolFacts{})
	switch {
	case rule.Approval == nil || rule.Approval.Expires != 24*time.Hour || rule.Approval.OnCall:
		t.Errorf("approval %+v", rule.Approval)
	case rule.Spend == nil || rule.Spend.Budget.Limit != 1_000_000_000 || rule.Spend.Budget.Window != 24*time.Hour:
		t.Errorf("spend %+v", rule.Spend)
	case rule.Planting == nil || rule.ProviderKey != nil:
		t.Errorf("a key in a header that a command never sees would be presented: %+v", rule.ProviderKey)
	case rule.MaxProcessing != 2*time.Minute || rule.ReadLag != 30*time.Second || rule.GiveUp != time.Hour:
		t.Errorf("times %+v", rule)
	case config.Routes[0].Name() != "payments/refund" || config.HTTP["payments"].Headers["Authorization"].Text != "Bearer sk-live":
		t.Errorf("routes %+v", config.Routes)
	}
	explanation, err := policy.Explain(config, "tickets/create_ticket", []byte(`{"severity":"critical","incident_id":"i-1","amount":12.5,"description":"down"}`))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "explain-whole.json", indented(t, explanation))
}

func TestExplainRefusesCallsThatCannotBeMarkedOrPaid(t *testing.T) {
	config := parse(t, `
budgets: {b: {limit: 5, currency: EUR}}
upstreams: {a: {command: [x]}}
tools: {a/make: {marker: {append: /text}, budget: {name: b, amount: /amount}, approval: {when: args.amount > 3}}}
`)
	for arguments, want := range map[string]string{
		`{"text":5,"amount":1}`:      "a/make would be refused (bad_arguments): no mark can be planted: /text is no text, at whose end a mark could be added; nothing would be sent",
		`{"text":"x"}`:               "a/make would be refused (bad_arguments): the arguments have no /amount, which is what the call costs; nothing would be sent",
		`{"text":"x","amount":"ab"}`: "a/make would be refused (bad_arguments): /amount: \"ab\" is not an amount: write a decimal number such as 12.50; nothing would be sent",
	} {
		if _, err := policy.Explain(config, "a/make", []byte(arguments)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", arguments, err)
		}
	}
	for arguments, want := range map[string]string{`{"amount":3}`: "not needed", `{"amount":3.01}`: "required"} {
		if e, err := policy.Explain(config, "a/make", []byte(arguments)); err != nil || e.Approval != want {
			t.Errorf("%s: %q, %v", arguments, e.Approval, err)
		}
	}
}
