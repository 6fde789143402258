// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

func TestAReopenedOperationSendsItsArgumentsAfterRetentionTookThem(t *testing.T) {
	b := newRig(t, nil)
	_, grant := b.claim(b.rt, refund("12"))
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeRefused, Final: true})
	b.clock.Advance(721 * time.Hour)
	if n, err := b.rt.Trim(context.Background()); err != nil || n != 1 {
		t.Fatalf("trimmed %d, %v", n, err)
	}
	person := deed.Principal{Tenant: "acme", Actor: "ana", Rights: []deed.Right{deed.RightRead, deed.RightResolve}}
	if _, err := b.rt.Reopen(context.Background(), person, grant.Operation, "still wanted"); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Second)
	_, again := b.claim(b.rt, refund("12"))
	if again == nil || string(again.Arguments) != string(refund("12").Arguments) {
		t.Fatalf("%+v", again)
	}
	b.settle(b.rt, again, deed.Outcome{Kind: deed.OutcomeUnknown})
}

// What a fingerprint leaves out is part of what a person consents to all the same.
func TestWhatIsProposedAgainAfterRetentionIsShownAndSentAsItWasApproved(t *testing.T) {
	b := newRig(t, func(r *deed.Rule) {
		r.Approval, r.ApprovalExpires = &deed.ApprovalRule{OnCall: true, Expires: time.Hour}, time.Hour
		r.Fingerprint.Exclude = []string{"/note"}
	})
	noted := func(note string) deed.Call {
		call := refund("12")
		call.Arguments = []byte(`{"order_id":"1042","amount":12,"note":"` + note + `"}`)
		return call
	}
	answer, _ := b.claim(b.rt, noted("first"))
	b.clock.Advance(2 * time.Hour)
	if _, err := b.rt.Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(721 * time.Hour)
	if n, err := b.rt.Trim(context.Background()); err != nil || n != 1 {
		t.Fatalf("trimmed %d, %v", n, err)
	}
	b.claim(b.rt, noted("second"))
	op, err := b.rt.Get(context.Background(), operator, answer.Operation.ID)
	if err != nil || string(op.Arguments) != string(noted("second").Arguments) {
		t.Fatalf("%s is shown, %v", op.Arguments, err)
	}
	b.approve(person("alice"), op)
	_, grant := b.claim(b.rt, noted("third"))
	if grant == nil || string(grant.Arguments) != string(op.Arguments) {
		t.Fatalf("sent %+v where %s was approved", grant, op.Arguments)
	}
	b.settle(b.rt, grant, success("re_1"))
}

// slowStore lets time pass after a commit and before it is heard of.
type slowStore struct {
	deed.Store
	after func()
}

func (s *slowStore) Transact(ctx context.Context, scope deed.Scope, change func(deed.View) (deed.Change, error)) (deed.View, error) {
	view, err := s.Store.Transact(ctx, scope, change)
	s.after()
	return view, err
}

func TestSendByCountsFromTheInstantOfTheBegin(t *testing.T) {
	b := newRig(t, nil)
	b.store = &slowStore{b.store, func() { b.clock.Advance(15 * time.Minute) }}
	rt := b.process()
	call := refund("12")
	call.ManualLease = true
	_, grant := b.claim(rt, call)
	if err := grant.MaySend(); !errors.Is(err, deed.ErrTooLate) {
		t.Errorf("a quarter of an hour after its begin an attempt may send: %v", err)
	}
}

func TestACallWithoutAKeyLeavesNothingInTheLedger(t *testing.T) {
	b := newRig(t, nil)
	call := keyed("1")
	call.Tool = "pay/made-up"
	b.want(b.do(call), deed.Denied, deed.ReasonMissingOperationKey, 0)
	value, err := b.store.Setting(context.Background(), deed.ActiveSetting("pay/made-up"), nil)
	if err != nil || value != nil {
		t.Errorf("%q, %v", value, err)
	}
}
