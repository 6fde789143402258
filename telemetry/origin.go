// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"

	"github.com/deed-run/deed"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Traceparent returns the trace context of the call in ctx, to be kept with
// the operation that it begins, or "" if there is none.
func (o *Observer) Traceparent(ctx context.Context) string {
	meta := map[string]string{}
	propagation.TraceContext{}.Inject(ctx, propagation.MapCarrier(meta))
	return meta[deed.MetaTraceparent]
}

// origin is the span that an answered call is linked to: that of the attempt
// which executed, for whoever is told about it; for an attempt, the one
// before or the proposal. It is looked up in this process, then in the
// record, which other processes wrote too.
func (o *Observer) origin(f *flight, answer deed.Answer) trace.SpanContext {
	op := answer.Operation
	if op == nil {
		return trace.SpanContext{}
	}
	own := f.span.SpanContext()
	first, last := attemptOf(f, answer), attemptOf(f, answer)
	if answer.Decision == deed.Execute {
		first, last = first-1, 0
	}
	for number := first; number >= last; number-- {
		d, ok := o.attempts.get(attemptKey{op.Tenant, op.ID, number})
		if ok && d.span.IsValid() && !d.span.Equal(own) {
			return d.span
		}
	}
	recorded := parse(op.Meta[deed.MetaTraceparent])
	if recorded.SpanID() == own.SpanID() {
		return trace.SpanContext{}
	}
	return recorded
}

// parse reads a traceparent; the zero context if it is none.
func parse(traceparent string) trace.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{deed.MetaTraceparent: traceparent})
	return trace.SpanContextFromContext(ctx)
}
