// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Settle records how a granted attempt ended and answers the call behind it.
// It may be called again for the same grant when more is learnt: a late
// success after a time-out commits the operation, a late refusal clears the
// attempt. Success is answered only after the receipt is durable; when the
// ledger cannot be reached, the answer is uncertain and the Runtime keeps
// trying until it is closed, or the ledger says that it is (ErrClosed): then
// [Runtime.Close] names the outcome.
//
// Settling does not depend on the caller's context: it goes on under the values
// that the call came with, uncancelled.
func (rt *Runtime) Settle(_ context.Context, g *Grant, out Outcome) (Answer, error) {
	ctx := g.observed
	answer := g.answer
	answer.At = rt.clock.Now()
	if g.Unrecorded {
		rt.came(ctx, g, out)
		answer.Decision, answer.Result = Execute, out.Result
		if answer.WouldBe == "" {
			answer.Reason = out.Reason
		}
		answer.Text = out.Message
		rt.observer.CallAnswered(ctx, g.call, answer)
		return answer, nil
	}
	if out.Kind != OutcomeTask {
		rt.Release(g)
	}
	op, err := rt.settle(ctx, g, out)
	if err != nil && !errors.Is(err, ErrNotFound) {
		rt.settleLater(g, out, err)
		answer.Decision, answer.Reason, answer.Effective = Uncertain, ReasonOutcomeUnknown, StatusUncertain
		answer.Unrecorded = true
		answer.Text = (&Veiled{Told: "the outcome could not be recorded yet", Err: err}).Error()
		rt.observer.CallAnswered(ctx, g.call, answer)
		return answer, nil
	}
	if err != nil {
		return Answer{}, err
	}
	answer.Decision = Execute
	if op.Reason != "" || answer.WouldBe == "" {
		answer.Reason = op.Reason
	}
	answer.Operation, answer.Effective = op, op.Status
	answer.Result = out.Result
	if len(out.Result) == 0 {
		answer.Result = op.Result
	}
	answer.Text = firstText(out.Message, op.Message)
	if op.Status == StatusFailed && op.Retryable {
		answer.RetryAfter = max(0, op.RetryAt.Sub(op.SettledAt))
	}
	rt.observer.CallAnswered(ctx, g.call, answer)
	return answer, nil
}

// settle writes the outcome once.
func (rt *Runtime) settle(ctx context.Context, g *Grant, out Outcome) (*Operation, error) {
	settled, events, err := rt.settleOn(ctx, rt.store, g, out)
	if err != nil {
		return nil, err
	}
	rt.recorded(ctx, events)
	switch {
	case settled.Status == StatusUncertain && rt.reconciler != nil:
		rt.sights.watched(settled, settled.latestOpen().Number, rt.clock.Now())
	case settled.Status != StatusUncertain && settled.Status != StatusExecuting && (rt.reconciler != nil || g.ProviderKey != ""):
		rt.sights.forget(settled)
	}
	rt.suspect(ctx, settled)
	return settled, nil
}

// settleOn writes the outcome in a transaction of on and tells nobody.
func (rt *Runtime) settleOn(ctx context.Context, on transactor, g *Grant, out Outcome) (*Operation, []Event, error) {
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	var settled *Operation
	var events []Event
	_, err := on.Transact(ctx, Scope{Tenant: g.Tenant, ID: g.Operation}, func(view View) (Change, error) {
		op := view.Operation
		if op == nil {
			return Change{}, fmt.Errorf("%s attempt %d cannot be settled: %w", g.Operation, g.Attempt, ErrNotFound)
		}
		// So that what arrives after the answer is later than the settlement by
		// the ledger's clock too.
		rt.ledgerClock.ahead(view.Now, rt.clock.Now())
		settled, events = op, nil
		c, write := settlement(op, g, out, view.Now)
		if !write {
			return Change{}, nil
		}
		next, event, err := apply(op, c)
		if err != nil {
			return Change{}, err
		}
		event.ID = newEventID(view.Now, rt.random)
		if len(out.Receipt.Items) > 0 && c.receipts == nil {
			event.Data = out.reported()
		}
		settled, events = next, []Event{event}
		return Change{Put: []*Operation{next}, Events: events}, nil
	})
	return settled, events, err
}

// settlement is the event that an outcome is, where the operation stands now;
// false when the outcome tells nothing that is not recorded already.
func settlement(op *Operation, g *Grant, out Outcome, now time.Time) (cause, bool) {
	out = out.Whole()
	current := op.Status == StatusExecuting && op.AttemptNumber() == g.Attempt
	c := cause{
		at: now, actor: g.call.Principal.Actor, attempt: g.Attempt, outcome: out, message: out.Message,
		input: g.Rule.InputExpires, retain: g.Rule.Retention, actual: g.Rule.charged(out),
	}
	a := op.attempt(g.Attempt)
	if a == nil || a.Nonce != g.nonce {
		return c, false
	}
	switch out.Kind {
	case OutcomeSuccess:
		receipt := out.Receipt
		receipt.Established, receipt.EstablishedBy = EstablishedAccepted, ByReply
		receipt.Attempt = g.Attempt
		receipt.Result = nil
		c.receipts = []Receipt{receipt}
		c.message = ""
		c.event = EventProved
		if current {
			c.event = EventSucceeded
		}
		return c, !a.Proved
	case OutcomeRefused, OutcomeUnsent:
		c.event = EventRefusedLate
		if current {
			c.event = EventRefused
		}
		return c, !a.Cleared && !a.Proved
	case OutcomeInputRequired:
		c.event = EventInputRequested
		return c, current
	case OutcomeTask:
		c.event = EventTaskGiven
		return c, current
	}
	c.event = EventUnclear
	return c, current
}

// settleLater keeps trying to record an outcome while the process lives, also
// while it is closing: a proof is never lost for want of a disk. Only a Store
// that is closed is final.
func (rt *Runtime) settleLater(g *Grant, out Outcome, failed error) {
	if rt.last.Err() != nil {
		return
	}
	rt.unstored.Store(g, fmt.Errorf("%s attempt %d ended with %s (remote id %q) and that is not recorded: settle it with deed ops resolve", g.Operation, g.Attempt, out.Kind, out.Receipt.RemoteID))
	if errors.Is(failed, ErrClosed) {
		return
	}
	rt.running.Add(1)
	go func() {
		defer rt.running.Done()
		for pause := 100 * time.Millisecond; ; pause = min(2*pause, 10*time.Second) {
			select {
			case <-rt.clock.After(pause):
			case <-rt.ctx.Done():
				// Closing: what remains of the time is used up.
				select {
				case <-time.After(closingPause):
				case <-rt.last.Done():
					return
				}
			}
			_, err := rt.settle(rt.last, g, out)
			switch {
			case err == nil, errors.Is(err, ErrNotFound):
				rt.unstored.Delete(g)
				return
			case errors.Is(err, ErrClosed):
				return
			}
		}
	}()
}

// closingPause is how often an outcome is tried while the Runtime is closing.
const closingPause = 50 * time.Millisecond
