// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/telemetry"
)

// spanPlace is where in a trace a call stands. It is written while the Runtime is
// asked and read when the call is sent, which comes after.
type spanPlace struct{ ctx context.Context }

type spanPlaceKey struct{}

// tracing joins the traces of clients and upstreams: mcpgate.Tracing over
// package telemetry.
type tracing struct{}

// Received makes the client's trace the parent of the call.
func (tracing) Received(ctx context.Context, meta map[string]string) context.Context {
	return context.WithValue(telemetry.Extract(ctx, meta), spanPlaceKey{}, &spanPlace{})
}

// Sending names the call's own span to the upstream. Baggage stays what the
// client wrote.
func (tracing) Sending(ctx context.Context, meta map[string]string) {
	if p, ok := ctx.Value(spanPlaceKey{}).(*spanPlace); ok && p.ctx != nil {
		ctx = p.ctx
	}
	telemetry.Inject(ctx, meta)
}

// placing is an Observer that notes the span which another one begins.
type placing struct {
	deed.Observer
	deed.Tracer
}

// placed wraps an Observer that traces; another one has no spans to note.
func placed(observer deed.Observer) deed.Observer {
	if tracer, ok := observer.(deed.Tracer); ok {
		return placing{observer, tracer}
	}
	return observer
}

// CallStarted returns what the inner Observer does.
func (o placing) CallStarted(ctx context.Context, call deed.Call) context.Context {
	started := o.Observer.CallStarted(ctx, call)
	if p, ok := ctx.Value(spanPlaceKey{}).(*spanPlace); ok {
		p.ctx = started
	}
	return started
}
