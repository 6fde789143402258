// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"regexp"
	"strings"
	"testing"
)

// holds checks that every text stands in what a command printed.
func holds(t *testing.T, got string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
}

func TestAnOperationIsShownWithWhatAPersonDecidesBy(t *testing.T) {
	s := seed(t)
	wire := s.show("wire")
	digest := regexp.MustCompile(`  digest +(sha256:[0-9a-f]{64})`).FindStringSubmatch(wire)
	if digest == nil {
		t.Fatalf("no digest is shown:\n%s", wire)
	}
	approve := "deed ops approve " + string(s.ids["wire"]) + " --digest " + digest[1] + " --config " + s.config
	holds(t, wire, "awaiting_approval (pending)", "votes     0 of 2", "consent, as one of 2 of whom 0 have: with the last one, send exactly this, once", "asked by  support", `{"about":"wire","amount":12.5}`, "\n    "+approve+"\n",
		"deed ops deny "+string(s.ids["wire"])+" --digest "+digest[1]+` --reason "why"`)
	if got := deedCommand(t, strings.Fields(approve)[1:]...); !strings.Contains(got, "is awaiting_approval (pending); 1 of 2 consents are there, nothing is sent before the last") {
		t.Errorf("the command that was shown: %s", got)
	}
	holds(t, s.show("wire"), "votes     1 of 2", "approved by operator:")

	holds(t, s.show("refund"),
		"uncertain (outcome_unknown)", "may have been applied",
		"look-ups", "LOOKED UP BY", "absent", "undetermined", "because ", `read: {"items":[]}`, "a running gateway ",
		"money", "12.50 EUR", "held", "find out at pay whether it happened", "--committed --remote-id ID")
	holds(t, s.show("batch", "--arguments"), "items", "ITEM", "re_1", "no such order", "https://pay.example/b_1", "meta", "run=r-17")
	holds(t, s.show("batch", "--json"), `"items": [`, `"arguments": {`)
}

func TestListsNarrowDown(t *testing.T) {
	s := seed(t)
	lines := func(args ...string) int {
		t.Helper()
		return strings.Count(s.deed(append([]string{"ops", "list"}, args...)...), "op_")
	}
	for _, c := range []struct {
		args []string
		want int
	}{
		{nil, 8}, {[]string{"--meta", "run=r-17"}, 8}, {[]string{"--meta", "run=r-18"}, 0}, {[]string{"--older-than", "1h"}, 0},
		{[]string{"--status", "uncertain"}, 5}, {[]string{"--needs-person"}, 5}, {[]string{"--needs-person", "--tool", "pay/refund"}, 1},
	} {
		if got := lines(c.args...); got != c.want {
			t.Errorf("%v: %d operations, want %d", c.args, got, c.want)
		}
	}
	holds(t, s.deed("ops", "list", "--status", "uncertain"), "UNCERTAIN FOR", "LOOKED UP", "absent ")
	if got := s.deed("ops", "list", "--tool", "pay/batch"); strings.Contains(got, "UNCERTAIN FOR") {
		t.Errorf("where nothing is uncertain:\n%s", got)
	}
	refusedCommand(t, 2, "ops", "list", "--needs-person", "--status", "failed", "--config", s.config)
	refusedCommand(t, 2, "ops", "list", "--older-than", "-1h", "--config", s.config)
}

func TestWhatNobodyKnowsIsNotCalledSettled(t *testing.T) {
	s := seed(t)
	settled := regexp.MustCompile(`(?m)^(settled|unknown since) +[0-9a-z]+ ago|^(settled|unknown since) +just now`)
	for name, want := range map[string]string{"lost": "unknown since", "batch": "settled"} {
		if got := settled.FindString(s.deed("ops", "show", string(s.ids[name]))); !strings.HasPrefix(got, want) {
			t.Errorf("of %s deed ops show says %q, want %s", name, got, want)
		}
	}
}

func TestManyAreResolvedAfterADryRun(t *testing.T) {
	s := seed(t)
	all := []string{"ops", "resolve", "--all", "--tool", "pay/charge", "--not-applied", "--reason", "the provider was down"}
	holds(t, s.deed(append(all, "--dry-run")...), "4 would be decided, 0 refused")
	holds(t, s.deed("ops", "list", "--status", "uncertain"), string(s.ids["lost"]))
	holds(t, s.deed(all...), "4 decided, 0 refused", "failed (decided by a person, may be retried)")
	holds(t, s.deed(append(all, "--json")...), `"operations": []`)
}

func TestStatsAndBudgetsCount(t *testing.T) {
	s := seed(t)
	holds(t, s.deed("stats"), "uncertain          5", "money held           12.50 EUR (refunds)", "decisions of the last day\n", "pay/charge", "next: deed ops show ")
	holds(t, s.deed("stats", "--since", "36h"), "decisions of the last 36 hours\n")
	holds(t, s.deed("stats", "--since", "168h"), "decisions of the last 7 days\n")
	holds(t, s.deed("stats", "--since", "90s"), "decisions of the last 1m30s\n")
	holds(t, s.deed("stats", "--json"), `"uncertain": 5`, `"held": "12.50"`, `"execute": 5`, `"awaiting_approval": 1`)
	refusedCommand(t, 2, "stats", "--since", "0s", "--config", s.config)
	holds(t, s.deed("budgets", "list"), "BUDGET", "refunds", "12.50", "87.50", "EUR")
	holds(t, s.deed("budgets", "list", "--json"), `"held": "12.50"`)
}

func TestAReplayIsProvedAsFarAsTheRecordGoes(t *testing.T) {
	s := seed(t)
	holds(t, s.deed("ops", "prove-replay", string(s.ids["batch"])), "1 attempt in the ledger, 1 was begun", "one of them was applied", "it does not prove", "b_1")
	holds(t, s.deed("ops", "prove-replay", string(s.ids["refund"]), "--json"), `"at_most_once": true`, `"open": 1`, `"does_not_prove": [`)
	refusedCommand(t, 3, "ops", "prove-replay", "op_00000000000000000000000000", "--config", s.config)
}
