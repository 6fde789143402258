// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// What a program asks of an answer must not hang on the record that the key
// names, which may be of another action.
func TestAnAnswerIsDoneOnlyWhenWhatItsCallAsksForIsCommitted(t *testing.T) {
	lost := func(context.Context, deed.Attempt) (deed.Receipt, error) {
		return deed.Receipt{}, errors.New("connection reset")
	}
	refused := func(context.Context, deed.Attempt) (deed.Receipt, error) {
		return deed.Receipt{}, deed.Refused(errors.New("no such order"))
	}
	waits := func(r *deed.Rule) { r.Approval = &deed.ApprovalRule{} }
	for _, c := range []struct {
		name     string
		rule     func(*deed.Rule)
		answer   func(b *rig) deed.Answer
		decision deed.Decision
		status   deed.Status
		receipt  string
	}{
		{"the first call", nil, func(b *rig) deed.Answer { return b.do(refund("12")) }, deed.Execute, deed.StatusCommitted, "re_1"},
		{"its repeat", nil, func(b *rig) deed.Answer {
			b.do(refund("12"))
			return b.do(refund("12"))
		}, deed.Replay, deed.StatusCommitted, "re_1"},
		{"other arguments under a key that is committed", nil, func(b *rig) deed.Answer {
			b.do(refund("12"))
			return b.do(refund("13"))
		}, deed.Conflict, deed.StatusCommitted, ""},
		{"an effect whose answer was lost", nil, func(b *rig) deed.Answer {
			return b.doing(refund("12"), lost)
		}, deed.Execute, deed.StatusUncertain, ""},
		{"the repeat of it", nil, func(b *rig) deed.Answer {
			b.doing(refund("12"), lost)
			return b.do(refund("12"))
		}, deed.Uncertain, deed.StatusUncertain, ""},
		{"a provider's no", nil, func(b *rig) deed.Answer {
			return b.doing(refund("12"), refused)
		}, deed.Execute, deed.StatusFailed, ""},
		{"the repeat of it", nil, func(b *rig) deed.Answer {
			b.doing(refund("12"), refused)
			return b.do(refund("12"))
		}, deed.Failed, deed.StatusFailed, ""},
		{"a call that waits for a person", waits, func(b *rig) deed.Answer { return b.do(refund("12")) }, deed.AwaitingApproval, deed.StatusAwaitingApproval, ""},
		{"a call without a key", nil, func(b *rig) deed.Answer {
			call := refund("12")
			call.Key = nil
			return b.do(call)
		}, deed.Denied, "", ""},
		{"a call beside one under way", func(r *deed.Rule) { r.Wait = -1 }, func(b *rig) deed.Answer {
			_, grant := b.claim(b.rt, refund("12"))
			b.t.Cleanup(func() { b.rt.Release(grant) })
			answer, _ := b.claim(b.process(), refund("12"))
			return answer
		}, deed.InProgress, deed.StatusExecuting, ""},
		{"what was granted and not yet done", nil, func(b *rig) deed.Answer {
			answer, grant := b.claim(b.rt, refund("12"))
			b.t.Cleanup(func() { b.rt.Release(grant) })
			return answer
		}, deed.Execute, deed.StatusExecuting, ""},
		{"an attempt whose lease ran out", nil, func(b *rig) deed.Answer {
			call := refund("12")
			call.ManualLease = true
			b.claim(b.rt, call)
			b.clock.Advance(24 * time.Hour)
			answer, _ := b.claim(b.process(), refund("12"))
			return answer
		}, deed.Uncertain, deed.StatusUncertain, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := c.answer(newRig(t, c.rule))
			if answer.Decision != c.decision || answer.Effective != c.status {
				t.Fatalf("the answer is %s, %q; the case is of %s, %q", answer.Decision, answer.Effective, c.decision, c.status)
			}
			if answer.Done() != (c.receipt != "") {
				t.Errorf("done is %v of %s with %q", answer.Done(), answer.Decision, answer.Effective)
			}
			switch receipt := answer.Receipt(); {
			case (receipt != nil) != (c.receipt != ""):
				t.Errorf("the receipt is %+v", receipt)
			case receipt != nil && receipt.RemoteID != c.receipt:
				t.Errorf("the receipt names %q, want %q", receipt.RemoteID, c.receipt)
			}
		})
	}
}

// doing is do with another effect.
func (b *rig) doing(call deed.Call, effect func(context.Context, deed.Attempt) (deed.Receipt, error)) deed.Answer {
	b.t.Helper()
	answer, err := b.rt.Do(context.Background(), call, effect)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer
}
