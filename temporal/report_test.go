// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal_test

import (
	"errors"
	"testing"

	"go.temporal.io/sdk/temporal"

	"github.com/deed-run/deed"
	deedtemporal "github.com/deed-run/deed/temporal"
)

// Temporal may ask again where another answer can come without another call.
func TestEveryAnswerIsRetriedOrFinal(t *testing.T) {
	retried := map[deed.Decision][]deed.Reason{
		deed.InProgress:       {deed.ReasonLeaseLive, deed.ReasonTwinExecuting, deed.ReasonAwaitingInput},
		deed.AwaitingApproval: {deed.ReasonPending, deed.ReasonTwinPending},
		deed.Uncertain:        {deed.ReasonOutcomeUnknown, deed.ReasonToolError, deed.ReasonFoundMany, deed.ReasonTwinUnresolved},
		deed.Denied:           {deed.ReasonLoop, deed.ReasonRate, deed.ReasonStoreUnavailable, deed.ReasonPolicyOutdated, deed.ReasonFenced},
	}
	want := map[deed.Decision]map[deed.Reason]bool{}
	for decision, reasons := range retried {
		want[decision] = map[deed.Reason]bool{}
		for _, reason := range reasons {
			want[decision][reason] = true
		}
	}
	for _, row := range deed.ReasonTable() {
		for _, reason := range row.Reasons {
			answer := deed.Answer{Decision: row.Decision, Reason: reason, Operation: &deed.Operation{ID: "op_1"}}
			if got := deedtemporal.MayRetry(answer); got != want[row.Decision][reason] {
				t.Errorf("%s (%s): retried is %v", row.Decision, reason, got)
			}
		}
	}
	for _, retryable := range []bool{false, true} {
		for _, answer := range []deed.Answer{
			{Decision: deed.Failed, Reason: deed.ReasonNotSent},
			{Decision: deed.Execute, Effective: deed.StatusFailed},
		} {
			answer.Operation = &deed.Operation{ID: "op_1", Retryable: retryable}
			if got := deedtemporal.MayRetry(answer); got != retryable {
				t.Errorf("%s of an operation that may begin again (%v): retried is %v", answer.Decision, retryable, got)
			}
		}
	}
	if !deedtemporal.MayRetry(deed.Answer{Decision: deed.Execute, Effective: deed.StatusUncertain, Reason: deed.ReasonOutcomeUnknown}) {
		t.Error("an attempt with an unknown outcome is final")
	}
}

func TestEveryDecisionHasASentence(t *testing.T) {
	for _, row := range deed.ReasonTable() {
		if deedtemporal.Saying(row.Decision) == "" {
			t.Errorf("%s has none", row.Decision)
		}
	}
}

func TestOnlyAReportIsReadAsOne(t *testing.T) {
	for name, err := range map[string]error{
		"nothing":       nil,
		"another error": errors.New("no"),
		"another type":  temporal.NewApplicationError("no", "other", deedtemporal.Report{Decision: deed.Denied}),
		"no details":    temporal.NewApplicationError("no", "deed.denied"),
	} {
		if told, ok := deedtemporal.ReportOf(err); ok {
			t.Errorf("%s: read as %+v", name, told)
		}
	}
}

func TestAReportIsFoundInsideOtherFailures(t *testing.T) {
	told := deedtemporal.Report{Decision: deed.Conflict, Reason: deed.ReasonKeyReused}
	inner := temporal.NewApplicationError("conflict", deedtemporal.ErrorType(deed.Conflict), told)
	outer := temporal.NewApplicationErrorWithCause("the child failed", "wrapError", inner)
	if got, ok := deedtemporal.ReportOf(outer); !ok || got.Reason != deed.ReasonKeyReused {
		t.Errorf("read as %+v, %v", got, ok)
	}
}
