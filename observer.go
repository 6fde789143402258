// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "context"

// Observer watches calls, for traces and metrics. Methods must return
// quickly and never fail a call.
type Observer interface {
	// CallStarted is called when a call arrives; the context it returns is
	// handed to the other methods and to the function of [Runtime.Do].
	CallStarted(ctx context.Context, call Call) context.Context
	// CallAnswered is called once per call with what it was told, and once more
	// for each later settlement of its attempt. A caller that left while it
	// waited was told nothing: then the answer has no decision.
	CallAnswered(ctx context.Context, call Call, answer Answer)
	// Recorded is called for each event after it is durable or queued.
	Recorded(ctx context.Context, event Event)
	// Violated is called when an invariant that must hold did not. It is
	// worth waking someone.
	Violated(ctx context.Context, what string)
}

// Tracer is an Observer that traces: the Runtime keeps the trace context of
// the call that begins an operation in its Meta, so that a replay, also by
// another process, can link to the call that really ran.
type Tracer interface {
	// Traceparent returns the W3C trace context of a started call, or "".
	Traceparent(ctx context.Context) string
}

// MetaTraceparent is the entry of [Operation.Meta] that Tracer fills.
const MetaTraceparent = "traceparent"

type noObserver struct{}

func (noObserver) CallStarted(ctx context.Context, _ Call) context.Context { return ctx }
func (noObserver) CallAnswered(context.Context, Call, Answer)              {}
func (noObserver) Recorded(context.Context, Event)                         {}
func (noObserver) Violated(context.Context, string)                        {}
