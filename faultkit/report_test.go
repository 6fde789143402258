// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/caller"
)

func TestAStepIsNamedByWhatTheCallerCanTell(t *testing.T) {
	operation := func(decision, status string) faultkit.Step {
		return faultkit.Step{Result: caller.Result{Operation: &caller.Operation{Decision: decision, Status: status}}}
	}
	cases := map[string]faultkit.Step{
		"execute/committed": operation("execute", "committed"),
		"execute/uncertain": operation("execute", "uncertain"),
		"replay":            operation("replay", "committed"),
		"conflict":          operation("conflict", "committed"),
		"unrecorded":        {},
		"no answer":         {Err: caller.ErrNoAnswer},
		"rpc error -32602":  {Err: &caller.RPCError{Code: -32602}},
		"http 503":          {Err: &caller.StatusError{Status: 503}},
	}
	for want, step := range cases {
		if got := step.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTheTableShowsCountsVerdictsAndWhatWasWrong(t *testing.T) {
	report := faultkit.Report{Rows: []faultkit.Row{
		{Scenario: "burst", Decisions: []string{"execute/committed", "replay", "replay"}, Requests: 1, Effects: 1, Verdict: faultkit.Pass},
		{Scenario: "restart", Decisions: []string{"no answer"}, Requests: 2, Effects: faultkit.Unknown, Verdict: faultkit.Duplicated,
			Problems: []string{"2 requests were passed on to the tool, want 1"}},
	}}
	var table strings.Builder
	must(t, report.WriteTable(&table))
	want := `SCENARIO  DECISIONS                     REQUESTS  EFFECTS  VERDICT
burst     execute/committed, replay ×2  1         1        pass
restart   no answer                     2         ?        DUPLICATE
restart: 2 requests were passed on to the tool, want 1
`
	if diff := cmp.Diff(want, table.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if report.Passed() || !report.Duplicated() {
		t.Error("the report passed")
	}
}
