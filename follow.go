// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"time"
)

// waitFor waits until the operation has changed, its lease has run out, the
// patience is over, or the caller has left, whose error it returns.
func (rt *Runtime) waitFor(ctx context.Context, op *Operation, patience time.Duration, now time.Time) error {
	limit := max(0, patience)
	if at := op.LapsesAt(); !at.IsZero() {
		limit = min(limit, max(0, at.Sub(now)))
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	changed := make(chan error, 1)
	rt.running.Add(1)
	go func() {
		defer rt.running.Done()
		_, err := rt.store.Watch(watching, op.Tenant, op.ID, op.Version)
		changed <- err
	}()
	over := rt.clock.After(limit)
	select {
	case err := <-changed:
		if err != nil {
			// The store cannot watch now: look again a little later.
			select {
			case <-rt.clock.After(min(limit, lookAgain)):
			case <-ctx.Done():
			}
		}
	case <-over:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// lookAgain is how long a follower waits when the store cannot tell it of
// changes.
const lookAgain = 100 * time.Millisecond

// follow answers a superseded operation's key as its successor.
func (c *claim) follow(ctx context.Context, op *Operation) (Answer, *Grant, error) {
	for seen := map[OperationID]bool{op.ID: true}; op.Reason == ReasonSuperseded; seen[op.ID] = true {
		view, err := c.rt.store.Load(ctx, Scope{Tenant: op.Tenant, ID: op.SupersededBy})
		if err != nil {
			return c.rt.storeFailed(c, err), nil, nil
		}
		if view.Operation == nil || seen[op.SupersededBy] {
			break
		}
		op = view.Operation
		c.fingerprints[op.FingerprintRules] = op.Fingerprint
		r := storedAnswer(c.inquiry(view), op)
		if r.act == actFollow {
			continue
		}
		answer, err := c.answer(ctx, r, view)
		if err != nil {
			return c.rt.storeFailed(c, err), nil, nil
		}
		return answer, nil, nil
	}
	return c.denial(ctx, ReasonCancelled, op.Message), nil, nil
}
