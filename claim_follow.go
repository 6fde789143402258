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

// follow makes a call whose operation was superseded one about the successor,
// at the end of the chain: its effect, its bytes. Only a call that is equal to
// one of the chain is; others conflict. It reports whether the answer is final.
func (c *claim) follow(ctx context.Context, op *Operation) (Answer, bool) {
	if c.resumed != nil {
		answer, err := c.answer(ctx, answered(Denied, ReasonCancelled, op), View{Operation: op})
		if err != nil {
			answer = c.storeFailed(err)
		}
		return answer, true
	}
	asked, received := c.fingerprints, c.fingerprints[c.ruled.rules]
	view := View{Operation: op}
	equal := false
	for seen := map[OperationID]bool{}; ; {
		equal = equal || asked[op.FingerprintRules] == op.Fingerprint
		if op.Reason != ReasonSuperseded || seen[op.ID] {
			break
		}
		seen[op.ID] = true
		var err error
		if view, err = c.rt.store.Load(ctx, Scope{Tenant: op.Tenant, ID: op.SupersededBy}); err != nil {
			return c.storeFailed(err), true
		}
		if view.Operation == nil {
			return c.denial(ctx, ReasonCancelled, op.Message), true
		}
		if op = view.Operation; asked[op.FingerprintRules] == "" {
			if err := c.learnRules(ctx, view); err != nil {
				return c.storeFailed(err), true
			}
		}
	}
	if !equal {
		answer, err := c.answer(ctx, answered(Conflict, ReasonKeyReused, op), view)
		if err != nil {
			return c.storeFailed(err), true
		}
		return answer, true
	}
	if c.call.EffectFingerprint == received {
		c.call.EffectFingerprint = ""
	}
	if len(op.Arguments) > 0 {
		c.call.Arguments = op.Arguments
	}
	c.call.Meta, c.matter = op.Meta, op.Matter
	c.named = named{keys: []Key{op.Key}, provenance: c.named.provenance}
	c.fingerprints, c.followed, c.checked = map[Digest]Fingerprint{op.FingerprintRules: op.Fingerprint}, true, false
	if _, known := c.fingerprints[c.ruled.rules]; !known {
		var err error
		if c.fingerprints[c.ruled.rules], err = c.fingerprint(c.ruled); err != nil {
			return c.denial(ctx, ReasonBadArguments, err.Error()), true
		}
	}
	return Answer{}, false
}
