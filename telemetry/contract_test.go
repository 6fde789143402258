// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/telemetry"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

func TestAReadOnlyCallHasASpan(t *testing.T) {
	r := newRig(t, telemetry.Options{})
	r.run(context.Background(), callOf("pay/look", "", `{}`), deed.Outcome{Kind: deed.OutcomeSuccess, Result: []byte(`{}`)})
	r.run(context.Background(), callOf("pay/look", "", `{}`),
		deed.Outcome{Kind: deed.OutcomeUnknown, Reason: deed.ReasonToolError, ResultIsError: true})
	golden(t, "read_only.json", show([]string{"a look", "a look that failed"}, r.spans.GetSpans()))
}

func TestObserveModeSaysWhatEnforceWouldHaveDecided(t *testing.T) {
	r := newRig(t, telemetry.Options{})
	rule := r.policy["pay/refund"]
	rule.Mode = deed.ModeObserve
	r.policy["pay/refund"] = rule
	r.run(context.Background(), callOf("pay/refund", "", `{"order":1001}`), success("re_1"))
	span := show(nil, tracetest.SpanStubs{r.only()})[0]
	if got := span.Attributes["agent.idempotency.would_be"]; got != "denied" {
		t.Errorf("the would-be decision is %v, want denied", got)
	}
	if span.Status == "Error" || span.Attributes["agent.idempotency.decision"] != "execute" {
		t.Errorf("the span of a call that ran is %s, decision %v", span.Status, span.Attributes["agent.idempotency.decision"])
	}
}

// What is only observed may fail like anything else that is sent.
func TestAnObservedCallThatFailedIsAFailure(t *testing.T) {
	for want, out := range map[string]deed.Outcome{
		"":                {Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: "re_1"}},
		"refused":         {Kind: deed.OutcomeRefused, Final: true, Reason: deed.ReasonRefused},
		"outcome_unknown": {Kind: deed.OutcomeUnknown, Reason: deed.ReasonOutcomeUnknown},
		"tool_error":      {Kind: deed.OutcomeUnknown, Reason: deed.ReasonToolError, ResultIsError: true, Result: []byte(`{}`)},
	} {
		r := newRig(t, telemetry.Options{})
		rule := r.policy["pay/refund"]
		rule.Mode, rule.Deny = deed.ModeObserve, func([]byte, deed.Principal) string { return "not today" }
		r.policy["pay/refund"] = rule
		r.run(context.Background(), callOf("pay/refund", "refund-order-1001", `{"order":1001}`), out)
		span := show(nil, tracetest.SpanStubs{r.only()})[0]
		if got, _ := span.Attributes["error.type"].(string); got != want || (span.Status == "Error") != (want != "") {
			t.Errorf("error.type %q, status %s, want %q", got, span.Status, want)
		}
		if span.Attributes["agent.idempotency.would_be"] != "denied" {
			t.Errorf("would be %v", span.Attributes["agent.idempotency.would_be"])
		}
	}
}

func TestTheFunctionOfDoRunsUnderTheCallsSpan(t *testing.T) {
	r := newRig(t, telemetry.Options{Surface: telemetry.SurfaceLibrary})
	var within trace.SpanContext
	_, err := r.runtime.Do(context.Background(), callOf("pay/refund", "refund-order-1001", `{"order":1001}`),
		func(ctx context.Context, _ deed.Attempt) (deed.Receipt, error) {
			within = trace.SpanContextFromContext(ctx)
			return deed.Receipt{RemoteID: "re_1"}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	if span := r.only(); span.SpanContext.SpanID() != within.SpanID() {
		t.Errorf("the function ran under span %s, want %s", within.SpanID(), span.SpanContext.SpanID())
	}
}

func TestACallerThatLeavesWhileWaitingEndsItsSpan(t *testing.T) {
	r := newRig(t, telemetry.Options{})
	rule := r.policy["pay/refund"]
	rule.Wait = time.Minute
	r.policy["pay/refund"] = rule
	call := callOf("pay/refund", "refund-order-1001", `{"order":1001}`)
	_, grant := r.claim(context.Background(), call)
	leaving, leave := context.WithCancel(context.Background())
	leave()
	if _, _, err := r.runtime.Claim(leaving, call); !errors.Is(err, context.Canceled) {
		t.Fatalf("the waiting call was answered: %v", err)
	}
	span := show(nil, tracetest.SpanStubs{r.only()})[0]
	if _, decided := span.Attributes["agent.idempotency.decision"]; decided || span.Status != "Error" {
		t.Errorf("the span ended as %s with %v", span.Status, span.Attributes)
	}
	if _, err := r.runtime.Settle(context.Background(), grant, success("re_1")); err != nil {
		t.Fatal(err)
	}
	if status := r.only().Status.Code.String(); status != "Unset" {
		t.Errorf("the span of the call that ran is %s", status)
	}
}
