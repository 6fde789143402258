// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/test/conformance"
)

func TestVerdictsAreReadScenarioByScenario(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "server-ping-2026-11-29T18-17-30-806Z", `[{"id":"ping","status":"SUCCESS"}]`)
	write(t, folder, "server-http-header-validation-2026-11-29T18-17-31-001Z",
		`[{"id":"reject","status":"SUCCESS"},{"id":"reject","status":"FAILURE","errorMessage":"got 200"}]`)

	got, err := conformance.ReadResults(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := conformance.Results{
		{Scenario: "ping", ID: "ping"}:                                 {Status: conformance.Success},
		{Scenario: "http-header-validation", ID: "reject"}:             {Status: conformance.Success},
		{Scenario: "http-header-validation", ID: "reject", Ordinal: 1}: {Status: conformance.Failure, Reason: "got 200"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"http-header-validation/reject#2"}, got.List(conformance.Failure)); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

func TestUnreadableVerdictsAreErrors(t *testing.T) {
	for name, folder := range map[string]string{
		"a folder that names no scenario": "notes",
		"verdicts that are no JSON":       "server-ping-2026-11-29T18-17-30-806Z",
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			write(t, parent, folder, `{"id":`)
			if results, err := conformance.ReadResults(parent); err == nil {
				t.Errorf("read as %v, want an error", results)
			}
		})
	}
}

func TestCompareNamesEveryDifference(t *testing.T) {
	ping := conformance.Check{Scenario: "ping", ID: "ping"}
	list := conformance.Check{Scenario: "tools-list", ID: "tools-list"}
	rebinding := conformance.Check{Scenario: "dns", ID: "rejected"}
	direct := conformance.Results{
		ping: {Status: conformance.Success},
		list: {Status: conformance.Success},
	}
	through := conformance.Results{
		ping:      {Status: conformance.Success},
		list:      {Status: conformance.Failure, Reason: "no schema"},
		rebinding: {Status: conformance.Success},
	}
	want := []string{
		"dns/rejected: directly not run, through the gateway SUCCESS",
		"tools-list/tools-list: directly SUCCESS, through the gateway FAILURE (no schema)",
	}
	if diff := cmp.Diff(want, conformance.Compare(direct, through)); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	if differences := conformance.Compare(direct, direct); differences != nil {
		t.Errorf("a run differs from itself: %q", differences)
	}
}

func write(t *testing.T, parent, folder, checks string) {
	t.Helper()
	path := filepath.Join(parent, folder)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "checks.json"), []byte(checks), 0o600); err != nil {
		t.Fatal(err)
	}
}
