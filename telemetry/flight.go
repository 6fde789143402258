// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/deed-run/deed"
	"go.opentelemetry.io/otel/trace"
)

// flight is one call between its arrival and its answer.
type flight struct {
	call    deed.Call
	span    trace.Span
	started time.Time
	// attempt is the attempt that the call was granted, 0 if none.
	attempt  atomic.Int64
	answered atomic.Bool
}

// of reports whether the flight is that of the call: nested calls find their
// caller's flight in the context too. Arguments are compared by where they
// are, not by what they say.
func (f *flight) of(call deed.Call) bool {
	mine, theirs := f.call.Arguments, call.Arguments
	if f.call.Tool != call.Tool || len(mine) != len(theirs) {
		return false
	}
	return len(mine) == 0 || &mine[0] == &theirs[0]
}

// land ends the flight for the first caller only: an attempt that is settled
// again answers nobody again.
func (f *flight) land() bool { return f.answered.CompareAndSwap(false, true) }

type flightKey struct{}

func flightFrom(ctx context.Context) *flight {
	f, _ := ctx.Value(flightKey{}).(*flight)
	return f
}

// attemptKey names an attempt; number 0 is the proposal before the first.
type attemptKey struct {
	tenant    deed.Tenant
	operation deed.OperationID
	number    int
}

// keptAttempts is how many attempts are remembered, to be linked to by
// replays of the same process. Replays elsewhere use the ledger.
const keptAttempts = 4096

// departure is what is remembered of an attempt: the span it ran under, and
// its flight until that is answered.
type departure struct {
	span   trace.SpanContext
	flight *flight
}

// remember notes that the call in flight proposed or began an attempt.
func (o *Observer) remember(f *flight, event deed.Event) {
	f.attempt.Store(int64(event.Attempt))
	key := attemptKey{event.Tenant, event.OperationID, event.Attempt}
	o.attempts.put(key, departure{f.span.SpanContext(), f})
}

// forget releases an answered flight; where it ran stays known.
func (o *Observer) forget(f *flight, op *deed.Operation) {
	if op == nil {
		return
	}
	key := attemptKey{op.Tenant, op.ID, int(f.attempt.Load())}
	if d, ok := o.attempts.get(key); ok && d.flight == f {
		o.attempts.put(key, departure{span: d.span})
	}
}

// flightOf finds the flight of an answered call: in its context, or by the
// operation's attempts when it was settled under another context.
func (o *Observer) flightOf(ctx context.Context, call deed.Call, op *deed.Operation) *flight {
	if f := flightFrom(ctx); f != nil && f.of(call) {
		return f
	}
	if op == nil {
		return nil
	}
	for number := op.AttemptNumber(); number >= 0; number-- {
		d, ok := o.attempts.get(attemptKey{op.Tenant, op.ID, number})
		if ok && d.flight != nil && d.flight.of(call) {
			return d.flight
		}
	}
	return nil
}
