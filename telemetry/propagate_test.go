// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"context"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/telemetry"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestTheRequestsTraceContextIsTheParent(t *testing.T) {
	call := callOf("pay/look", "", `{}`)
	ambient := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	})
	within := trace.ContextWithSpanContext(context.Background(), ambient)
	for name, c := range map[string]struct {
		ctx    context.Context
		meta   map[string]string
		parent string
		links  int
	}{
		"of a request with one":                 {context.Background(), map[string]string{"traceparent": parent}, "00f067aa0ba902b7", 0},
		"of a request with one, inside another": {within, map[string]string{"traceparent": parent}, "00f067aa0ba902b7", 1},
		"unless it has none":                    {within, nil, "0200000000000000", 0},
		"unless it is malformed":                {within, map[string]string{"traceparent": "00-1-2-3"}, "0200000000000000", 0},
		"unless there is none at all":           {context.Background(), nil, "0000000000000000", 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, telemetry.Options{})
			ctx := telemetry.Extract(c.ctx, c.meta)
			r.observer.CallAnswered(r.observer.CallStarted(ctx, call), call, deed.Answer{Decision: deed.Execute})
			span := r.only()
			if got := span.Parent.SpanID().String(); got != c.parent {
				t.Errorf("the parent is %s, want %s", got, c.parent)
			}
			if len(span.Links) != c.links {
				t.Errorf("the span has %d links, want %d", len(span.Links), c.links)
			}
		})
	}
}

func TestBaggageIsNotTakenOver(t *testing.T) {
	ctx := telemetry.Extract(context.Background(), map[string]string{"traceparent": parent, "baggage": "user=1"})
	if got := baggage.FromContext(ctx).Len(); got != 0 {
		t.Errorf("%d members of baggage were taken over", got)
	}
}

func TestInjectReplacesTheTraceContextAndNothingElse(t *testing.T) {
	ctx := telemetry.Extract(context.Background(), map[string]string{"traceparent": parent})
	meta := map[string]string{"traceparent": "old", "tracestate": "old=1", "deed/operation": "kept"}
	telemetry.Inject(ctx, meta)
	if diff := cmp.Diff(map[string]string{"traceparent": parent, "deed/operation": "kept"}, meta); diff != "" {
		t.Errorf("meta (-want +got):\n%s", diff)
	}
	telemetry.Inject(context.Background(), meta)
	if meta["traceparent"] != parent {
		t.Error("without a trace context the old one was removed")
	}
}

// starts remembers what a sampler was shown.
type starts struct{ seen []attribute.KeyValue }

func (s *starts) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	s.seen = p.Attributes
	return sdktrace.SamplingResult{Decision: sdktrace.Drop}
}

func (s *starts) Description() string { return "remembers" }

func TestSamplersSeeToolEffectAndKey(t *testing.T) {
	sampler := &starts{}
	observer := telemetry.NewObserver(
		sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler)), sdkmetric.NewMeterProvider(),
		telemetry.Options{Policy: rules(), Keys: telemetry.SecrecyRaw})
	observer.CallStarted(context.Background(), callOf("pay/refund", "refund-order-1001", `{"order":1001}`))
	got := map[string]any{}
	for _, attribute := range sampler.seen {
		got[string(attribute.Key)] = attribute.Value.AsInterface()
	}
	want := map[string]any{
		"agent.idempotency.key": "refund-order-1001", "agent.idempotency.provenance": "runtime",
		"agent.tool.effect": "non_idempotent", "agent.tool.name": "pay/refund", "agent.tool.side_effect": true,
		"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund", "mcp.method.name": "tools/call",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attributes at the start (-want +got):\n%s", diff)
	}
}

func TestHashesCompareUnderOneSecretOnly(t *testing.T) {
	key := func(opts telemetry.Options) any {
		r := newRig(t, opts)
		r.run(context.Background(), callOf("pay/refund", "refund-order-1001", `{"order":1001}`), success("re_1"))
		return show(nil, r.spans.GetSpans())[0].Attributes["agent.idempotency.key"]
	}
	one, again := key(telemetry.Options{Secret: []byte("one")}), key(telemetry.Options{Secret: []byte("one")})
	if one != again {
		t.Errorf("one secret gave %v and %v", one, again)
	}
	if other := key(telemetry.Options{Secret: []byte("other")}); one == other {
		t.Errorf("two secrets gave %v", one)
	}
}
