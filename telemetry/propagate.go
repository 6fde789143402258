// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

type ambientKey struct{}

func ambientFrom(ctx context.Context) (trace.SpanContext, bool) {
	span, ok := ctx.Value(ambientKey{}).(trace.SpanContext)
	return span, ok
}

// Extract makes the trace context in a request's `_meta` (unprefixed
// traceparent and tracestate, SEP-414) the parent of the calls under the
// returned context. A span that ctx carries already, such as that of the HTTP
// request, is linked to instead. Baggage is not taken over: callers choose
// it, and it would spread to the upstreams.
func Extract(ctx context.Context, meta map[string]string) context.Context {
	ambient := trace.SpanContextFromContext(ctx)
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier(meta))
	if ambient.IsValid() && !ambient.Equal(trace.SpanContextFromContext(ctx)) {
		ctx = context.WithValue(ctx, ambientKey{}, ambient)
	}
	return ctx
}

// Inject writes the trace context of ctx into meta, replacing what is there,
// for a request to an upstream. It leaves meta alone when ctx carries none.
func Inject(ctx context.Context, meta map[string]string) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return
	}
	delete(meta, "tracestate")
	propagation.TraceContext{}.Inject(ctx, propagation.MapCarrier(meta))
}
