// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"github.com/deed-run/deed"
)

// A receiver that reads names in any case takes the other member.
func TestAMemberInAnotherCaseEscapesNeitherConsentNorBudget(t *testing.T) {
	rule := ruleOf(t, budgets+`tools: {a/pay: {deny: {when: "args.amount > 900"}, approval: {when: "args.amount > 100"}, budget: {name: refunds, amount: /amount}}}`, "a/pay")
	arguments := []byte(`{"amount":5,"Amount":999}`)
	if !rule.Approval.When(arguments, deed.Principal{}) {
		t.Error("it needs no consent")
	}
	if got, err := rule.Spend.Amount(arguments); err == nil {
		t.Errorf("it costs %s", got)
	}
	if rule.Deny(arguments, deed.Principal{}) == "" {
		t.Error("it is not refused")
	}
}
