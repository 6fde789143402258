// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"time"

	"github.com/deed-run/deed"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Observer is a deed.Observer that writes spans and metrics. It is safe for
// concurrent use, holds no goroutine and needs no closing; its providers do.
type Observer struct {
	opts   Options
	tracer trace.Tracer
	meter  metric.Meter
	meters meters
	veil   veil
	tools  toolNames

	attempts  recent[attemptKey, departure]
	proposals recent[deed.OperationID, time.Time]
}

var (
	_ deed.Observer = (*Observer)(nil)
	_ deed.Tracer   = (*Observer)(nil)
)

// NewObserver returns an Observer over the program's own providers.
func NewObserver(traces trace.TracerProvider, metrics metric.MeterProvider, opts Options) *Observer {
	opts = opts.complete()
	meter := metrics.Meter(scopeName)
	return &Observer{
		opts:      opts,
		tracer:    traces.Tracer(scopeName),
		meter:     meter,
		meters:    newMeters(meter, opts),
		veil:      newVeil(opts),
		tools:     toolNames{known: opts.KnownTool, limit: opts.MaxTools},
		attempts:  recent[attemptKey, departure]{limit: keptAttempts},
		proposals: recent[deed.OperationID, time.Time]{limit: keptAttempts},
	}
}

// CallStarted starts the call's span with all that is known before the ledger
// is asked.
func (o *Observer) CallStarted(ctx context.Context, call deed.Call) context.Context {
	start := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(o.startAttributes(call)...),
	}
	name := methodToolsCall
	if o.opts.Surface == SurfaceLibrary {
		name = operationExecuteTool
		start[0] = trace.WithSpanKind(trace.SpanKindInternal)
	}
	if ambient, ok := ambientFrom(ctx); ok {
		start = append(start, trace.WithLinks(trace.Link{SpanContext: ambient}))
	}
	f := &flight{call: call, started: o.opts.Clock.Now()}
	ctx, f.span = o.tracer.Start(ctx, name+" "+o.tools.name(call.Tool), start...)
	return context.WithValue(ctx, flightKey{}, f)
}

// CallAnswered ends the call's span and counts its decision. Further answers
// to the same call, and answers to calls that were not seen starting, are
// ignored.
func (o *Observer) CallAnswered(ctx context.Context, call deed.Call, answer deed.Answer) {
	f := o.flightOf(ctx, call, answer.Operation)
	if f == nil || !f.land() {
		return
	}
	defer o.forget(f, answer.Operation)
	failure := failureOf(answer)
	if f.span.IsRecording() {
		o.complete(f, answer, failure)
	}
	f.span.End()

	if answer.Decision != "" {
		labels := append(o.tools.labels(call.Tool),
			keyDecision.String(string(answer.Decision)),
			keySideEffect.Bool(answer.Rule.Mutates()))
		o.meters.decisions.Add(ctx, 1, metric.WithAttributes(labels...))
	}
	o.meters.duration.Record(ctx, o.opts.Clock.Now().Sub(f.started).Seconds(),
		metric.WithAttributes(o.durationLabels(call, failure)...))
}

// complete writes what the answer says into the call's span.
func (o *Observer) complete(f *flight, answer deed.Answer, failure string) {
	f.span.SetAttributes(o.answerAttributes(f, answer)...)
	if origin := o.origin(f, answer); origin.IsValid() {
		f.span.AddLink(trace.Link{
			SpanContext: origin,
			Attributes:  []attribute.KeyValue{keyOperationID.String(string(answer.Operation.ID))},
		})
	}
	if failure != "" {
		f.span.SetAttributes(keyErrorType.String(failure))
		f.span.SetStatus(codes.Error, describe(answer))
	}
}

// Violated counts a broken invariant, and says which on the span at hand.
func (o *Observer) Violated(ctx context.Context, what string) {
	o.meters.violations.Add(ctx, 1)
	trace.SpanFromContext(ctx).AddEvent(eventViolated,
		trace.WithAttributes(keyWhat.String(short(what, maxText))))
}
