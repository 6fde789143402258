// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrTooLate: the moment after which nothing of an attempt may leave has
// passed. Send nothing, and settle the grant as unsent.
var ErrTooLate = errors.New("too late to send")

// MaySend reports whether the first byte of the attempt may leave now. Call
// it right before the first write; afterwards settle with OutcomeUnsent if it
// returned an error.
func (g *Grant) MaySend() error {
	if g.Unrecorded {
		return nil
	}
	lease := g.SendBy.Sub(g.started)
	elapsed := g.elapsed()
	if elapsed < lease {
		return nil
	}
	late := &LateError{Operation: g.Operation, Attempt: g.Attempt, Elapsed: elapsed, Lease: lease}
	if own := g.begun.elapsed(); own < lease {
		late.Ahead = elapsed - own
	}
	return late
}

// LateError is an [ErrTooLate] with what is known of it. Its text names no address.
type LateError struct {
	Operation OperationID
	Attempt   int
	// Elapsed is the time since the attempt was begun, of which it had Lease.
	Elapsed, Lease time.Duration
	// Ahead is about how much this machine's clock is ahead of the ledger's, where
	// only the two of them together make it too late; 0 otherwise. The rule holds all
	// the same: nobody knows which of the clocks is right.
	Ahead time.Duration
}

func (e *LateError) Error() string {
	if e.Ahead > 0 {
		return fmt.Sprintf("%v: this machine's clock is about %s ahead of the ledger's, and an attempt has %s; nothing was sent: set both clocks right (NTP), then call again (%s attempt %d)",
			ErrTooLate, e.Ahead.Round(time.Second/10), e.Lease, e.Operation, e.Attempt)
	}
	return fmt.Sprintf("%v: %s attempt %d was begun %s ago and had %s", ErrTooLate, e.Operation, e.Attempt, e.Elapsed.Round(time.Millisecond), e.Lease)
}

// Is makes it an ErrTooLate.
func (e *LateError) Is(target error) bool { return target == ErrTooLate }

// TimeToSend is how long the first byte may still wait, for write deadlines.
func (g *Grant) TimeToSend() time.Duration {
	if g.Unrecorded {
		return g.Rule.Lease
	}
	return max(0, g.SendBy.Sub(g.started)-g.elapsed())
}

// elapsed is the time since the attempt was begun, by this process's watch or
// by its wall clock beside the ledger's, whichever is longer.
func (g *Grant) elapsed() time.Duration {
	return max(g.begun.elapsed(), g.begun.clock.Now().Round(0).Sub(g.started.Round(0)))
}

// Call returns the call that was granted.
func (g *Grant) Call() Call { return g.call }

// Answer returns what the claim was answered with: similar operations and
// warnings for the caller.
func (g *Grant) Answer() Answer { return g.answer }

// StillRunning answers the call while its attempt goes on: in_progress, with
// the time after which to ask again.
func (g *Grant) StillRunning() Answer {
	answer := g.answer
	answer.Decision, answer.Reason, answer.RetryAfter = InProgress, ReasonLeaseLive, maxRetryAfter
	return answer
}

// Release ends the renewing of a grant without settling it: its lease runs
// out and the operation becomes uncertain, unless it is settled before.
func (rt *Runtime) Release(g *Grant) { rt.leases.drop(g) }

// Renew extends the lease of a live attempt by the rule's lease from now. It
// returns ErrVersion when the attempt is no longer the current one, is no
// longer executing, or its lease has already run out: a lost lease is never
// taken back. SendBy does not move.
func (rt *Runtime) Renew(ctx context.Context, g *Grant) error {
	_, err := rt.store.Transact(ctx, Scope{Tenant: g.Tenant, ID: g.Operation}, func(view View) (Change, error) {
		op := view.Operation
		if op == nil || op.EffectiveState(view.Now) != StateExecuting || op.AttemptNumber() != g.Attempt || op.Current().Nonce != g.nonce {
			return Change{}, ErrVersion
		}
		next := op.clone()
		next.LeaseExpiresAt = view.Now.Add(g.Rule.Lease)
		return Change{Put: []*Operation{next}}, nil
	})
	return err
}
