// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// A process is cut off from the ledger while its function prepares. Look-ups
// find nothing, another process sends, and the first one must not any more.
func TestAFunctionThatPreparesForTooLongSendsNothing(t *testing.T) {
	d := unsent(t, nil)
	d.answer = nothing
	cut := &brokenStore{Store: d.store}
	first, err := deed.New(deed.Options{Store: cut, Clock: d.clock, Policy: deed.FixedPolicy{"pay/refund": d.rule}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := first.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	answer, err := first.Do(context.Background(), refund("12"), func(ctx context.Context, attempt deed.Attempt) (deed.Receipt, error) {
		if err := attempt.MaySend(); err != nil {
			t.Errorf("at once: %v", err)
		}
		cut.down.Store(true)
		d.clock.Advance(d.rule.Lease + time.Second)
		lost := d.do(refund("12"))
		d.want(lost, deed.Uncertain, deed.ReasonOutcomeUnknown, 0)
		d.id = lost.Operation.ID
		for looks := 1; d.look().Counted != deed.VerdictAbsent; looks++ {
			if looks == 5 {
				return deed.Receipt{}, deed.NotSent(errors.New("the look-ups never came to an end"))
			}
			d.clock.Advance(5 * time.Minute)
		}
		d.clock.Advance(time.Second)
		d.want(d.do(refund("12")), deed.Execute, "", 1)
		cut.down.Store(false)
		if err := attempt.MaySend(); err != nil {
			if !errors.Is(err, deed.ErrTooLate) {
				t.Error(err)
			}
			return deed.Receipt{}, deed.NotSent(err)
		}
		return d.pay(ctx, attempt)
	})
	if err != nil {
		t.Fatal(err)
	}
	d.want(answer, deed.Execute, "", 1)
	if op := d.op(); !answer.Done() || op.Diverged || op.Receipt().Attempt != 2 {
		t.Errorf("%s, diverged %v, receipt %+v", op.Status, op.Diverged, op.Receipt())
	}
}
