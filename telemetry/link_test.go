// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"context"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
	"github.com/deed-run/deed/telemetry"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// only returns the one span that ended since the last reset.
func (r *rig) only() tracetest.SpanStub {
	r.t.Helper()
	spans := r.spans.GetSpans()
	if len(spans) != 1 {
		r.t.Fatalf("%d spans ended, want 1", len(spans))
	}
	r.spans.Reset()
	return spans[0]
}

func (r *rig) linksTo(span tracetest.SpanStub, want trace.SpanContext) {
	r.t.Helper()
	if len(span.Links) != 1 {
		r.t.Fatalf("the span has %d links, want 1", len(span.Links))
	}
	got := span.Links[0].SpanContext
	if got.TraceID() != want.TraceID() || got.SpanID() != want.SpanID() {
		r.t.Errorf("the span links to %s/%s, want %s/%s", got.TraceID(), got.SpanID(), want.TraceID(), want.SpanID())
	}
}

func TestAReplayLinksToTheSpanThatExecuted(t *testing.T) {
	ctx := context.Background()
	call := callOf("pay/refund", "refund-order-1001", `{"order":1001}`)

	t.Run("in the same process", func(t *testing.T) {
		r := newRig(t, telemetry.Options{})
		r.run(ctx, call, success("re_1"))
		executed := r.only()
		r.run(ctx, call, deed.Outcome{})
		replayed := r.only()
		r.linksTo(replayed, executed.SpanContext)
		if replayed.SpanContext.TraceID() == executed.SpanContext.TraceID() {
			t.Error("the replay is part of the other trace")
		}
	})

	t.Run("of the attempt that succeeded, not of one before it", func(t *testing.T) {
		r := newRig(t, telemetry.Options{})
		r.run(ctx, call, deed.Outcome{Kind: deed.OutcomeUnsent, Reason: deed.ReasonNotSent})
		unsent := r.only()
		r.run(ctx, call, success("re_1"))
		executed := r.only()
		r.linksTo(executed, unsent.SpanContext)
		r.run(ctx, call, deed.Outcome{})
		r.linksTo(r.only(), executed.SpanContext)
	})

	t.Run("in another process over the same ledger", func(t *testing.T) {
		clock := storetest.NewClock(start())
		ledger := storetest.NewMemory(clock)
		first := rigOver(t, clock, ledger, telemetry.Options{})
		first.run(ctx, call, success("re_1"))
		executed := first.only()
		second := rigOver(t, clock, ledger, telemetry.Options{})
		second.run(ctx, call, deed.Outcome{})
		second.linksTo(second.only(), executed.SpanContext)
	})

	t.Run("not to what a record has in place of a trace context", func(t *testing.T) {
		r := newRig(t, telemetry.Options{})
		answer := deed.Answer{Decision: deed.Replay, Operation: &deed.Operation{
			ID: "op_1", Meta: map[string]string{deed.MetaTraceparent: "00-nonsense"},
		}}
		r.observer.CallAnswered(r.observer.CallStarted(ctx, call), call, answer)
		if links := r.only().Links; len(links) != 0 {
			t.Errorf("the span links to %v", links)
		}
	})
}

func TestACallIsAnsweredOnce(t *testing.T) {
	r := newRig(t, telemetry.Options{})
	ctx := context.Background()
	_, grant := r.claim(ctx, callOf("pay/refund", "refund-order-1001", `{"order":1001}`))
	for _, out := range []deed.Outcome{{Kind: deed.OutcomeUnknown}, success("re_1"), success("re_1")} {
		if _, err := r.runtime.Settle(ctx, grant, out); err != nil {
			t.Fatal(err)
		}
	}
	r.only()
	if got := sum(t, r.collect()["agent.idempotency.decisions"]); got != 1 {
		t.Errorf("%d decisions were counted for one call", got)
	}
}

func TestANestedCallHasItsOwnSpan(t *testing.T) {
	r := newRig(t, telemetry.Options{})
	outerCall := callOf("pay/refund", "refund-order-1001", `{"order":1001}`)
	innerCall := callOf("pay/refund", "refund-order-2002", `{"order":2002}`)
	ctx := r.observer.CallStarted(context.Background(), outerCall)
	outer := trace.SpanContextFromContext(ctx)
	r.run(ctx, innerCall, success("re_2"))
	inner := r.only()
	if inner.Parent.SpanID() != outer.SpanID() {
		t.Error("the inner call's span is no child of the outer one's")
	}
	r.observer.CallAnswered(ctx, outerCall, deed.Answer{Decision: deed.Execute})
	if r.only().SpanContext.SpanID() != outer.SpanID() {
		t.Error("the outer call's span was ended by the inner one's answer")
	}
}

func TestACallerThatLeftEndsTheSpanWithoutADecision(t *testing.T) {
	r := newRig(t, telemetry.Options{})
	call := callOf("pay/refund", "refund-order-1001", `{"order":1001}`)
	r.observer.CallAnswered(r.observer.CallStarted(context.Background(), call), call, deed.Answer{})
	span := show(nil, tracetest.SpanStubs{r.only()})[0]
	if span.Status != "Error" || span.Attributes["error.type"] != "_OTHER" {
		t.Errorf("the span ended as %s with error.type %v", span.Status, span.Attributes["error.type"])
	}
	if _, counted := r.collect()["agent.idempotency.decisions"]; counted {
		t.Error("a decision was counted")
	}
}
