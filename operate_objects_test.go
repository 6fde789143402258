// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"testing"

	"github.com/deed-run/deed"
)

// Once a person has named the object of a receipt without a name, another one
// is a second effect.
func TestAnObjectBesideOneThatAPersonNamedTakesForce(t *testing.T) {
	person := deed.Principal{Tenant: "acme", Actor: "ana", Rights: []deed.Right{deed.RightRead, deed.RightResolve}}
	named := func(ids ...string) deed.Resolution {
		return deed.Resolution{Outcome: deed.ResolveCommitted, RemoteIDs: ids, Reason: "seen"}
	}
	begin := func(t *testing.T) (*rig, deed.OperationID) {
		b := newRig(t, nil)
		_, grant := b.claim(b.rt, refund("12"))
		b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeSuccess})
		return b, grant.Operation
	}
	t.Run("one after the other", func(t *testing.T) {
		b, id := begin(t)
		if _, err := b.rt.Resolve(context.Background(), person, id, named("A")); err != nil {
			t.Fatal(err)
		}
		var refused *deed.RefusedError
		if op, err := b.rt.Resolve(context.Background(), person, id, named("B")); !errors.As(err, &refused) {
			t.Errorf("B beside A was taken without force: diverged %t, %v", op.Diverged, err)
		}
	})
	t.Run("two at once", func(t *testing.T) {
		b, id := begin(t)
		op, err := b.rt.Resolve(context.Background(), person, id, named("A", "B"))
		if err == nil && !op.Diverged {
			t.Errorf("two objects, and it is not marked: %+v", op.Receipts)
		}
	})
	t.Run("the same one twice", func(t *testing.T) {
		b, id := begin(t)
		op, err := b.rt.Resolve(context.Background(), person, id, named("A", "A"))
		if err != nil || op.Diverged || len(op.Receipts) != 2 {
			t.Errorf("one object of the receipt that was there: %+v, %v", op, err)
		}
	})
	t.Run("two at once of an uncertain one", func(t *testing.T) {
		b := newRig(t, nil)
		_, grant := b.claim(b.rt, refund("12"))
		b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown})
		op, err := b.rt.Resolve(context.Background(), person, grant.Operation, named("A", "B"))
		if err != nil || !op.Diverged {
			t.Errorf("two objects, and it is not marked: %+v, %v", op, err)
		}
	})
	t.Run("two at once of a batch, forced", func(t *testing.T) {
		b := newRig(t, nil)
		_, grant := b.claim(b.rt, refund("12"))
		items := []deed.Item{{ID: "0", Outcome: deed.OutcomeSuccess}, {ID: "1", Outcome: deed.OutcomeSuccess}}
		b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{Items: items}})
		res := named("A", "B")
		res.Force = true
		op, err := b.rt.Resolve(context.Background(), person, grant.Operation, res)
		if err != nil || !op.Diverged || len(op.Receipts) != 3 {
			t.Errorf("two objects, and one is lost: %+v, %v", op.Receipts, err)
		}
	})
}
