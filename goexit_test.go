// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/deed-run/deed"
)

// So does FailNow of a test's function.
func TestAFunctionThatEndsItsGoroutineLeavesTheOperationUncertain(t *testing.T) {
	b := newRig(t, nil)
	answer := b.doing(refund("12"), func(ctx context.Context, attempt deed.Attempt) (deed.Receipt, error) {
		_, _ = b.pay(ctx, attempt)
		goruntime.Goexit()
		return deed.Receipt{}, nil
	})
	b.want(answer, deed.Execute, deed.ReasonOutcomeUnknown, 1)
	if answer.Effective != deed.StatusUncertain || answer.Done() || !strings.Contains(answer.Text, "ended its goroutine") {
		t.Errorf("%s, %q", answer.Effective, answer.Text)
	}
	b.want(b.do(refund("12")), deed.Uncertain, deed.ReasonOutcomeUnknown, 1)
}

func TestAFunctionThatEndsItsGoroutineDoesNotHoldClosing(t *testing.T) {
	b := newRig(t, nil)
	rt := b.process()
	ctx, leave := context.WithCancel(context.Background())
	_, err := rt.Do(ctx, refund("12"), func(context.Context, deed.Attempt) (deed.Receipt, error) {
		leave()
		goruntime.Goexit()
		return deed.Receipt{}, nil
	})
	if err != nil && ctx.Err() == nil {
		t.Error(err)
	}
	if err := rt.Close(context.Background()); err != nil {
		t.Error(err)
	}
	b.want(b.do(refund("12")), deed.Uncertain, deed.ReasonOutcomeUnknown, 0)
}
