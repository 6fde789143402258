// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"errors"
	"fmt"
)

// Do runs fn at most once for the call's key and answers every repeat from
// the record.
//
// fn sends attempt.Arguments, whatever this call carried: they are what was
// proposed first, what was marked to be found again, or what a person edited
// when approving. It returns the receipt of what it did: remote system, id and
// url, and the result to be replayed. Its context carries ctx's values but not
// its cancellation, and ends at the rule's hard timeout: a caller that leaves
// does not stop an effect under way. fn must not send anything after
// attempt.SendBy, and must not send anything twice by itself: where it prepares
// for long it asks attempt.MaySend right before it sends.
//
// An error wrapped by [NotSent] proves that nothing left and makes the
// operation failed and retryable; one wrapped by [Refused] is the provider's
// definite no and makes it failed. Any other error, also one joined with another
// that proves nothing, and a panic leave it uncertain.
//
// Where nothing is recorded (a read-only tool, and a rule in observe mode that
// would not have let the call run) the attempt has no number and no SendBy, and
// the answer says what this run returned: Result, and Text if it failed.
//
// The error is ctx's own when the caller left before there was an answer (the
// effect goes on and is recorded), ErrClosed, or that fn is nil: then nothing was
// claimed. What fn returned is in the answer.
func (rt *Runtime) Do(ctx context.Context, call Call, fn func(ctx context.Context, attempt Attempt) (Receipt, error)) (Answer, error) {
	if fn == nil {
		return Answer{}, errNoFunction
	}
	answer, grant, err := rt.Claim(ctx, call)
	if err != nil {
		return Answer{}, err
	}
	if grant == nil {
		rt.Delivered(ctx, answer)
		return answer, nil
	}
	done := make(chan Answer, 1)
	rt.running.Add(1)
	go func() {
		defer rt.running.Done()
		out := Outcome{Kind: OutcomeUnknown, Reason: ReasonOutcomeUnknown, Message: "the function ended its goroutine (runtime.Goexit)"}
		// Deferred: a function that ends its goroutine does not come back here.
		defer func() { done <- rt.settled(grant, out) }()
		running, cancel := context.WithTimeout(grant.observed, grant.Rule.TimeoutHard)
		defer cancel()
		out = perform(running, grant, fn)
	}()
	select {
	case answer := <-done:
		rt.Delivered(ctx, answer)
		return answer, nil
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("the caller left; %s goes on: %w", grant.Operation, ctx.Err())
	}
}

// errNoFunction: even a call that a record could answer is refused without a
// function, for the next one might have to begin.
var errNoFunction = errors.New("deed: the function is nil: nothing was claimed and nothing was sent; pass the function that has the effect")

// settled records what came of a run of Do and answers it.
func (rt *Runtime) settled(g *Grant, out Outcome) Answer {
	answer, err := rt.Settle(g.observed, g, out)
	switch {
	case err != nil:
		return Answer{Decision: Uncertain, Reason: ReasonOutcomeUnknown, Text: err.Error()}
	case g.Unrecorded:
		return answer.ofNoRecord()
	}
	return answer
}

// perform runs fn and classifies what it returned.
func perform(ctx context.Context, g *Grant, fn func(context.Context, Attempt) (Receipt, error)) (out Outcome) {
	if err := g.MaySend(); err != nil {
		return Outcome{Kind: OutcomeUnsent, Reason: ReasonNotSent, Message: err.Error()}
	}
	defer func() {
		if p := recover(); p != nil {
			out = Outcome{Kind: OutcomeUnknown, Reason: ReasonOutcomeUnknown, Message: fmt.Sprintf("the function panicked: %v", p)}
		}
	}()
	receipt, err := fn(ctx, g.attempt())
	if err == nil {
		return Outcome{Kind: OutcomeSuccess, Receipt: receipt, Result: receipt.Result}
	}
	switch kind := provedBy(err); kind {
	case OutcomeUnsent:
		return Outcome{Kind: kind, Reason: ReasonNotSent, Message: err.Error()}
	case OutcomeRefused:
		return Outcome{Kind: kind, Final: true, Reason: ReasonRefused, Message: err.Error()}
	}
	return Outcome{Kind: OutcomeUnknown, Reason: ReasonOutcomeUnknown, Message: err.Error()}
}

func (g *Grant) attempt() Attempt {
	attempt := Attempt{Number: g.Attempt, SendBy: g.SendBy, ProviderKey: g.ProviderKey}
	if op := g.answer.Operation; op != nil && op.Current() != nil && !g.Unrecorded {
		attempt = *op.Current()
	}
	attempt.Arguments, attempt.MaySend = g.Arguments, g.MaySend
	return attempt
}
