// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/faultkit"
)

// played runs the suite against the toy gateway with a planted bug.
func played(t *testing.T, bug string, only ...string) faultkit.Report {
	t.Helper()
	report, err := faultkit.Run(t.Context(), faultkit.Options{
		Binary: os.Args[0], Fixture: []string{fixture}, Only: only, Env: toyEnv(bug), Stderr: os.Stderr,
	})
	must(t, err)
	var table strings.Builder
	must(t, report.WriteTable(&table))
	t.Logf("\n%s", table.String())
	return report
}

func TestAGatewayThatKeepsThePromisesPassesTheSuite(t *testing.T) {
	if report := played(t, "none"); !report.Passed() || report.Duplicated() {
		t.Error("the suite found fault with a gateway that has none")
	}
}

func TestEveryCrashPointEndsAsItsPlaceDemands(t *testing.T) {
	report, err := faultkit.Run(t.Context(), faultkit.Options{
		Binary: os.Args[0], Fixture: []string{fixture}, Env: toyEnv("none"), CrashPoints: true,
		Only: []string{"crash-p1", "crash-p2", "crash-p3", "crash-p4"},
	})
	must(t, err)
	want := []string{
		"crash-p1 no answer, execute/committed, replay 1 1", "crash-p2 no answer, uncertain, uncertain 0 0",
		"crash-p3 no answer, uncertain, uncertain 1 1", "crash-p4 no answer, replay, replay 1 1",
	}
	var got []string
	for _, row := range report.Rows {
		got = append(got, fmt.Sprint(row.Scenario, " ", strings.Join(row.Decisions, ", "), " ", row.Requests, " ", row.Effects))
	}
	if diff := cmp.Diff(want, got); diff != "" || !report.Passed() {
		t.Errorf("passed %t (-want +got):\n%s", report.Passed(), diff)
	}
}

func TestTheSuiteFindsPlantedBugs(t *testing.T) {
	cases := []struct {
		bug, scenario string
		want          faultkit.Verdict
	}{
		{"no-memory", "replay", faultkit.Duplicated},
		{"no-memory", "burst", faultkit.Duplicated},
		{"retry", "lost-reply", faultkit.Duplicated},
		{"send-before-store", "crash", faultkit.Duplicated},
		{"forget-on-restart", "lost-reply", faultkit.Duplicated},
		{"no-twins", "fresh-key", faultkit.Duplicated},
		{"no-conflict", "conflict", faultkit.Wrong},
		{"lost-is-failed", "lost-reply", faultkit.Wrong},
	}
	for _, c := range cases {
		t.Run(c.bug+" in "+c.scenario, func(t *testing.T) {
			report := played(t, c.bug, c.scenario)
			if len(report.Rows) != 1 || report.Rows[0].Verdict != c.want {
				t.Errorf("got %+v, want verdict %s", report.Rows, c.want)
			}
		})
	}
}

func TestAMisspeltScenarioIsNoPass(t *testing.T) {
	_, err := faultkit.Run(t.Context(), faultkit.Options{Binary: os.Args[0], Fixture: []string{fixture}, Only: []string{"lost-replay"}})
	if err == nil || !strings.Contains(err.Error(), "lost-reply") {
		t.Errorf("error %v should name the scenarios that exist", err)
	}
	if (faultkit.Report{}).Passed() {
		t.Error("an empty report passed")
	}
}

func TestAGatewayThatDoesNotStartIsBrokenNotWrong(t *testing.T) {
	report, err := faultkit.Run(t.Context(), faultkit.Options{Binary: "/nonexistent/deed", Fixture: []string{fixture}, Only: []string{"replay"}})
	must(t, err)
	if len(report.Rows) != 1 || report.Rows[0].Verdict != faultkit.Broken {
		t.Errorf("got %+v", report.Rows)
	}
}

func TestScenarioNamesAreUnique(t *testing.T) {
	var names []string
	for _, s := range faultkit.Scenarios() {
		if slices.Contains(names, s.Name) || s.Asks == "" {
			t.Errorf("scenario %q is there twice or asks nothing", s.Name)
		}
		names = append(names, s.Name)
	}
}
