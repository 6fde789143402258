// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit

import (
	"context"
	"strings"
)

// T is the part of *testing.T that Prove needs.
type T interface {
	Helper()
	Context() context.Context
	Logf(format string, values ...any)
	Errorf(format string, values ...any)
	Fatalf(format string, values ...any)
}

// Prove runs ProveTool from a test, logs the table and fails the test for every
// check that did not pass.
func Prove(t T, o ProveOptions) {
	t.Helper()
	report, err := ProveTool(t.Context(), o)
	if err != nil {
		t.Fatalf("%v", err)
		return
	}
	var table strings.Builder
	if err := report.WriteTable(&table); err != nil {
		t.Fatalf("%v", err)
		return
	}
	t.Logf("\n%s", table.String())
	for _, row := range report.Rows {
		if row.Verdict != Pass {
			t.Errorf("%s: %s: %s", row.Scenario, row.Verdict, strings.Join(row.Problems, "; "))
		}
	}
}
