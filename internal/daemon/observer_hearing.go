// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"

	"github.com/deed-run/deed"
)

// hearing is an Observer that lets others hear what is recorded.
type hearing struct {
	deed.Observer
	heard []func(ctx context.Context, event deed.Event)
	// answered hears of answers; nil does not.
	answered func(deed.Answer)
}

// CallAnswered tells the inner Observer, then whoever hears of answers.
func (o hearing) CallAnswered(ctx context.Context, call deed.Call, answer deed.Answer) {
	o.Observer.CallAnswered(ctx, call, answer)
	if o.answered != nil {
		o.answered(answer)
	}
}

// Recorded tells the inner Observer, then the others.
func (o hearing) Recorded(ctx context.Context, event deed.Event) {
	o.Observer.Recorded(ctx, event)
	for _, hear := range o.heard {
		hear(ctx, event)
	}
}

// tracedHearing keeps the traces of an inner Observer that has some.
type tracedHearing struct {
	hearing
	deed.Tracer
}

// overheard lets others hear what an Observer is told is recorded, and answered hear
// what is answered, nil for nobody.
func overheard(observer deed.Observer, answered func(deed.Answer), heard ...func(ctx context.Context, event deed.Event)) deed.Observer {
	if len(heard) == 0 {
		return observer
	}
	if observer == nil {
		observer = silent{}
	}
	h := hearing{observer, heard, answered}
	if tracer, ok := observer.(deed.Tracer); ok {
		return tracedHearing{h, tracer}
	}
	return h
}

// silent observes nothing.
type silent struct{}

func (silent) CallStarted(ctx context.Context, _ deed.Call) context.Context { return ctx }
func (silent) CallAnswered(context.Context, deed.Call, deed.Answer)         {}
func (silent) Recorded(context.Context, deed.Event)                         {}
func (silent) Violated(context.Context, string)                             {}
