// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

const twoPrograms = `
programs:
  billing: {account: acct_1}
  post: {}
tools:
  billing/refund: {effect: non_idempotent, key: required, approval: required}
  billing/charge: {effect: non_idempotent, key: required, approval: {run: on_approval}}
  post/letter: {effect: idempotent}
`

func TestTheRulesOfAProgramsToolsStandInTheFile(t *testing.T) {
	config := parse(t, twoPrograms)
	rules := config.Policy()
	refund := rules.Rule("billing/refund", deed.ToolFacts{})
	if refund.Effect != deed.EffectNonIdempotent || refund.Account != "acct_1" || refund.Key.Need != deed.NeedRequired {
		t.Errorf("a refund has the rule %+v", refund)
	}
	if refund.Approval == nil || !refund.Approval.OnCall {
		t.Error("nothing is sent to a program: what was approved waits for its next call")
	}
	if charge := rules.Rule("billing/charge", deed.ToolFacts{}); charge.Approval == nil || charge.Approval.OnCall {
		t.Error("a program that runs what was approved by itself says so")
	}
	if letter := rules.Rule("post/letter", deed.ToolFacts{}); letter.Account != "" || letter.Effect != deed.EffectIdempotent {
		t.Errorf("a letter has the rule %+v", letter)
	}
	if at := config.UpstreamIdentity("billing"); at != "acct_1" {
		t.Errorf("its effects go to %q", at)
	}
}

func TestAnAccountOfAProgramIsPartOfTheRevision(t *testing.T) {
	before, after := parse(t, twoPrograms), parse(t, strings.Replace(twoPrograms, "acct_1", "acct_2", 1))
	if before.Revision == after.Revision {
		t.Error("effects go elsewhere, and the revision is the same")
	}
}

// A misspelt name would otherwise begin without the approval and the budget of the
// one that was meant.
func TestAToolOfAProgramThatNoEntryNamesIsRefused(t *testing.T) {
	for _, defaults := range []string{"", "defaults: {unknown_tool: infer}\n", "defaults: {unknown_tool: non_idempotent}\n"} {
		rules := parse(t, defaults+twoPrograms).Policy()
		for tool, refused := range map[deed.Tool]bool{"billing/refnd": true, "billing/list_refunds": true, "billing/refund": false, "elsewhere/refund": false} {
			rule := rules.Rule(tool, deed.ToolFacts{})
			text := ""
			if rule.Deny != nil {
				text = rule.Deny([]byte(`{}`), deed.Principal{})
			}
			if (text != "") != refused || refused && (!rule.Mutates() || !strings.Contains(text, string(tool))) {
				t.Errorf("%q: %s is denied with %q", defaults, tool, text)
			}
		}
	}
}

// Nobody lists the tools of a program, and what reads answers is no advice for
// them.
func TestToolsOfProgramsAreAdvisedAsTheyStand(t *testing.T) {
	for _, advice := range policy.Advise(parse(t, twoPrograms), nil) {
		for _, text := range advice.Better {
			if strings.Contains(text, "lists it") || strings.Contains(text, "receipt:") || strings.Contains(text, "failed:") {
				t.Errorf("%s: %s", advice.Tool, text)
			}
		}
		if matter := slices.ContainsFunc(advice.Better, func(text string) bool { return strings.Contains(text, "matter:") }); !matter {
			t.Errorf("%s is advised %q", advice.Tool, advice.Better)
		}
	}
}
