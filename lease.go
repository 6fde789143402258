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
	if elapsed := g.elapsed(); elapsed >= lease {
		return fmt.Errorf("%w: %s attempt %d was begun %s ago and had %s", ErrTooLate, g.Operation, g.Attempt, elapsed.Round(time.Millisecond), lease)
	}
	return nil
}

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
