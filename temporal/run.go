// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"github.com/deed-run/deed"
)

// run is one execution of an Activity, and what came of it if it was granted an
// attempt.
type run struct {
	guard    *guard
	info     activity.Info
	in       *interceptor.ExecuteActivityInput
	next     interceptor.ActivityInboundInterceptor
	caller   context.Context
	proposed []byte

	// granted: the Activity has been started; left: its caller was gone before.
	// Only one of them comes true; guarded by starting.
	starting      sync.Mutex
	granted, left bool
	// unrecorded: Temporal is told what the Activity returned, as if deed were not
	// there: a read-only Activity, or observe mode.
	unrecorded bool
	// unfit: the frozen arguments cannot be handed to the Activity.
	unfit   bool
	done    bool
	result  any
	err     error
	receipt deed.Receipt
}

type runKey struct{}

// AttemptOf returns the attempt that lets the Activity of ctx run, with the key
// to present to a provider that honours one; false in an Activity that is not
// guarded.
func AttemptOf(ctx context.Context) (deed.Attempt, bool) {
	granted, ok := ctx.Value(runKey{}).(granted)
	return granted.attempt, ok
}

// SetReceipt tells the ledger by which id the Activity's effect is known at its
// provider: RemoteSystem, RemoteID, RemoteURL and Items are kept if the Activity
// succeeds. It does nothing in an Activity that is not guarded. It is not safe
// for concurrent use.
func SetReceipt(ctx context.Context, receipt deed.Receipt) {
	if granted, ok := ctx.Value(runKey{}).(granted); ok {
		granted.run.receipt = receipt
	}
}

type granted struct {
	attempt deed.Attempt
	run     *run
}

// waiting is the context of asking for an attempt. It ends with the caller's only
// until there is one: the effect outlives a caller that leaves, and its outcome is
// awaited, for otherwise Temporal would be told that it was cancelled.
func (r *run) waiting() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.caller))
	unhook := context.AfterFunc(r.caller, func() {
		r.starting.Lock()
		defer r.starting.Unlock()
		if !r.granted {
			r.left = true
			cancel(context.Cause(r.caller))
		}
	})
	return ctx, func() {
		unhook()
		cancel(nil)
	}
}

// start reports whether the Activity may be started: a caller that was gone before
// is told that nothing was sent.
func (r *run) start() bool {
	r.starting.Lock()
	defer r.starting.Unlock()
	r.granted = !r.left
	return r.granted
}

// attempt runs the Activity with the frozen arguments.
func (r *run) attempt(ctx context.Context, attempt deed.Attempt) (deed.Receipt, error) {
	if !r.start() {
		return deed.Receipt{}, deed.NotSent(errors.New("the Activity's time was over before it was started"))
	}
	r.unrecorded = attempt.Number == 0
	if r.unrecorded {
		// Nothing is at stake: the caller may cancel, as if deed were not there.
		cancelled, cancel := context.WithCancelCause(ctx)
		defer context.AfterFunc(r.caller, func() { cancel(context.Cause(r.caller)) })()
		ctx = cancelled
	}
	in := *r.in
	if !bytes.Equal(attempt.Arguments, r.proposed) {
		args, err := frozen(attempt.Arguments, r.in.Args)
		if err == nil && r.info.IsLocalActivity {
			err = survive(r.in.Args)
		}
		if err != nil {
			r.unfit, r.err = true, fmt.Errorf("%w; nothing was sent; begin again under another key, with arguments that are written as they are shown", err)
			return deed.Receipt{}, deed.NotSent(r.err)
		}
		in.Args = args
	}
	result, err := r.next.ExecuteActivity(context.WithValue(ctx, runKey{}, granted{attempt, r}), &in)
	if errors.Is(err, activity.ErrResultPending) {
		err = fmt.Errorf("a guarded Activity cannot be completed later by its token: what it has begun by now is unknown (%w)", err)
	}
	if err != nil {
		r.err = err
		if classify := r.guard.options.Classify; classify != nil && !r.unrecorded {
			if classified := classify(r.info, err); classified != nil {
				r.err = classified
			}
		}
		return deed.Receipt{}, r.err
	}
	r.done, r.result = true, result
	receipt := deed.Receipt{
		RemoteSystem: r.receipt.RemoteSystem, RemoteID: r.receipt.RemoteID, RemoteURL: r.receipt.RemoteURL, Items: r.receipt.Items,
	}
	// What cannot be encoded is not kept, and Temporal says why it cannot be.
	receipt.Result, _ = encode(result)
	return receipt, nil
}
