// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deed-run/deed"
)

func ruleOf(t *testing.T, text string, tool deed.Tool) deed.Rule {
	t.Helper()
	return parse(t, "upstreams: {a: {command: [x]}}\n"+text).Policy().Rule(tool, deed.ToolFacts{})
}

func TestApprovals(t *testing.T) {
	for _, test := range []struct {
		name, block string
		want        deed.ApprovalRule
	}{
		{"required is every call of everybody", "required", deed.ApprovalRule{Quorum: 1, Expires: 24 * time.Hour}},
		{"an empty block is the same", "{}", deed.ApprovalRule{Quorum: 1, Expires: 24 * time.Hour}},
		{
			"everything is written", "{approvers: [ann, bob], quorum: 2, expires: 1h, run: on_call, self: true}",
			deed.ApprovalRule{Approvers: []deed.Actor{"ann", "bob"}, Quorum: 2, Expires: time.Hour, OnCall: true, Self: true},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			rule := ruleOf(t, "tools: {a/make: {approval: "+test.block+"}}", "a/make")
			if diff := cmp.Diff(&test.want, rule.Approval, cmpopts.IgnoreFields(deed.ApprovalRule{}, "When")); diff != "" {
				t.Errorf("rule differs (-want +got):\n%s", diff)
			}
			if rule.Approval.When != nil || rule.ApprovalExpires != test.want.Expires {
				t.Errorf("expires after %s, when %t", rule.ApprovalExpires, rule.Approval.When != nil)
			}
		})
	}
}

func TestAnApprovalThatCannotBeDecidedIsRequired(t *testing.T) {
	rule := ruleOf(t, `tools: {a/make: {approval: {when: "args.amount > 100 && actor != 'boss'"}}}`, "a/make")
	for arguments, want := range map[string]bool{
		`{"amount":100}`: false, `{"amount":100.01}`: true, `{}`: true, `{"amount":"x"}`: true, `{"amount":5,"amount":5}`: true,
	} {
		if got := rule.Approval.When([]byte(arguments), deed.Principal{Actor: "intern"}); got != want {
			t.Errorf("%s: needs consent is %t", arguments, got)
		}
	}
	if rule.Approval.When([]byte(`{"amount":1000}`), deed.Principal{Actor: "boss"}) {
		t.Error("the actor does not count")
	}
}

const budgets = `
budgets:
  refunds: {limit: 1000.10, currency: EUR, window: 24h}
  travel: {limit: 1e3, currency: USD, window: month, scope: actor}
`

func TestBudgetsAreExact(t *testing.T) {
	config := parse(t, budgets)
	want := []deed.Budget{
		{Name: "refunds", Limit: 1_000_100_000, Currency: "EUR", Window: 24 * time.Hour, Scope: "tenant"},
		{Name: "travel", Limit: 1_000_000_000, Currency: "USD", Calendar: "month", Scope: "actor"},
	}
	if diff := cmp.Diff(want, config.BudgetList()); diff != "" {
		t.Errorf("budgets differ (-want +got):\n%s", diff)
	}
}

func TestWhatACallCosts(t *testing.T) {
	for _, test := range []struct {
		name, block, arguments string
		want                   deed.Amount
		wrong                  string
	}{
		{"a number", "{name: refunds, amount: /amount}", `{"amount":12.50}`, 12_500_000, ""},
		{"a number that no float holds", "{name: refunds, amount: /amount}", `{"amount":123456789012.345678}`, 123456789012345678, ""},
		{"a text", "{name: refunds, amount: /pay/sum}", `{"pay":{"sum":"0.10"}}`, 100_000, ""},
		{"cents", "{name: refunds, amount: /amount, scale: 2}", `{"amount":1250}`, 12_500_000, ""},
		{"too fine", "{name: refunds, amount: /amount, scale: 2}", `{"amount":0.00001}`, 0, "/amount: it has more decimals than can be booked"},
		{"nothing is there", "{name: refunds, amount: /amount}", `{}`, 0, "the arguments have no /amount, which is what the call costs"},
		{"no number", "{name: refunds, amount: /amount}", `{"amount":"ten"}`, 0, "/amount: \"ten\" is not an amount"},
		{"null", "{name: refunds, amount: /amount}", `{"amount":null}`, 0, "is not an amount"},
		{"the currency of the budget", "{name: refunds, amount: /amount, currency: /cur}", `{"amount":1,"cur":"eur"}`, 1_000_000, ""},
		{"another currency", "{name: refunds, amount: /amount, currency: /cur}", `{"amount":1,"cur":"USD"}`, 0, "another currency than that of budget refunds, which is in EUR"},
		{"no currency", "{name: refunds, amount: /amount, currency: /cur}", `{"amount":1}`, 0, "the arguments have no text /cur"},
	} {
		t.Run(test.name, func(t *testing.T) {
			rule := ruleOf(t, budgets+"tools: {a/pay: {budget: "+test.block+"}}", "a/pay")
			got, err := rule.Spend.Amount([]byte(test.arguments))
			if (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) || got != test.want {
				t.Errorf("costs %d, %v", got, err)
			}
		})
	}
}

func TestWhatACallDidCost(t *testing.T) {
	rule := ruleOf(t, budgets+"tools: {a/pay: {budget: {name: refunds, amount: /amount, currency: eur, actual: /structuredContent/paid, scale: 2}}}", "a/pay")
	for result, want := range map[string]deed.Amount{`{"structuredContent":{"paid":999}}`: 9_990_000, `{"structuredContent":{"paid":999.00001}}`: 9_990_001, `{"structuredContent":{"paid":1e99}}`: 999_999_999_999_999_999, `{"structuredContent":{}}`: -1, `{"structuredContent":{"paid":"x"}}`: -1, `no JSON`: -1} {
		got, said := rule.Spend.Actual([]byte(result))
		if said != (want >= 0) || said && got != want {
			t.Errorf("%s did cost %d (%t)", result, got, said)
		}
	}
	if rule.Spend.Budget.Name != "refunds" || rule.Spend.Budget.Limit != 1_000_100_000 {
		t.Errorf("booked in %+v", rule.Spend.Budget)
	}
}

func TestTheSourcesOfConsentAndMoneyStandForThem(t *testing.T) {
	const file = budgets + "tools: {a/pay: {approval: {when: 'args.x > 1', approvers: [ann]}, budget: {name: refunds, amount: /amount}}}"
	base := ruleOf(t, file, "a/pay").Conditions
	want := []string{
		`approval: args.x > 1, by "ann", quorum 1, expires 24h0m0s, on_call false, self false`,
		`budget: refunds 1000.10 EUR, window 24h0m0s, scope tenant, amount /amount e-0, currency , actual `,
	}
	if diff := cmp.Diff(want, base); diff != "" {
		t.Errorf("conditions differ (-want +got):\n%s", diff)
	}
	revision := parse(t, "upstreams: {a: {command: [x]}}\n"+file).Revision
	for old, changed := range map[string]string{
		"args.x > 1": "args.x > 2", "[ann]": "[bob]", "1000.10": "1000.11", "window: 24h": "window: day", "amount: /amount": "amount: /sum",
	} {
		edited := strings.Replace(file, old, changed, 1)
		if cmp.Equal(base, ruleOf(t, edited, "a/pay").Conditions) {
			t.Errorf("%s for %s changes no condition", changed, old)
		}
		if parse(t, "upstreams: {a: {command: [x]}}\n"+edited).Revision == revision {
			t.Errorf("%s for %s does not change the revision", changed, old)
		}
	}
}

func TestARouteHasApprovalAndBudget(t *testing.T) {
	config := parse(t, budgets+`
http: {pay: {url: "https://api.example"}}
routes: {"POST pay/refunds": {approval: {when: "args.body.amount > 5"}, budget: {name: refunds, amount: /body/amount, currency: /body/currency}}}
`)
	rule := config.Policy().Rule("pay/POST /refunds", deed.ToolFacts{})
	if amount, err := rule.Spend.Amount([]byte(`{"method":"POST","body":{"amount":7,"currency":"EUR"}}`)); err != nil || amount != 7_000_000 {
		t.Errorf("costs %d, %v", amount, err)
	}
	if !rule.Approval.When([]byte(`{"body":{"amount":7}}`), deed.Principal{}) {
		t.Error("needs no consent")
	}
}
