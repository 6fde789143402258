// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/deed-run/deed"
)

// faulty loses the next transaction, before it is written or after.
type faulty struct {
	deed.Store
	before, after atomic.Bool
}

func (f *faulty) Transact(ctx context.Context, scope deed.Scope, change func(deed.View) (deed.Change, error)) (deed.View, error) {
	if f.before.Swap(false) {
		return deed.View{}, deed.ErrUnavailable
	}
	view, err := f.Store.Transact(ctx, scope, change)
	if err == nil && f.after.Swap(false) {
		return deed.View{}, deed.ErrCommitUnknown
	}
	return view, err
}

func newFaultyBench(t *testing.T, change func(*deed.Rule)) (*rig, *faulty) {
	t.Helper()
	b := newRig(t, change)
	store := &faulty{Store: b.store}
	b.store = store
	b.rt = b.process()
	return b, store
}

func guarded(rule *deed.Rule) { rule.Approval, rule.Spend = &deed.ApprovalRule{}, refunds(nil) }

func TestADispatchThatWasNotWrittenSpendsNeitherConsentNorMoney(t *testing.T) {
	b, store := newFaultyBench(t, guarded)
	b.approve(person("alice"), b.propose("12"))
	store.before.Store(true)
	b.want(b.do(refund("12")), deed.Denied, deed.ReasonStoreUnavailable, 0)
	b.stands(0, 0)
	b.want(b.do(refund("12")), deed.Execute, "", 1)
	b.stands(0, 12)
}

func TestADispatchWhoseAcknowledgementWasLostSpendsThemOnce(t *testing.T) {
	b, store := newFaultyBench(t, guarded)
	b.approve(person("alice"), b.propose("12"))
	store.after.Store(true)
	b.want(b.do(refund("12")), deed.Execute, "", 1)
	b.stands(0, 12)
	b.want(b.do(refund("12")), deed.Replay, deed.ReasonStored, 1)
}

func TestAConsentWhoseAcknowledgementWasLostIsThereWhenItIsGivenAgain(t *testing.T) {
	b, store := newFaultyBench(t, guarded)
	op := b.propose("12")
	store.after.Store(true)
	if _, err := b.rt.Approve(context.Background(), person("alice"), op.ID, consentTo(op)); !errors.Is(err, deed.ErrCommitUnknown) {
		t.Fatalf("err = %v", err)
	}
	_, err := b.rt.Approve(context.Background(), person("alice"), op.ID, consentTo(op))
	b.refusedConsent(err, deed.ConsentDecided, "approved by alice")
	b.want(b.do(refund("12")), deed.Execute, "", 1)
}

func TestAConsentThatCameWithALostDispatchIsSpentForItsOperation(t *testing.T) {
	b, store := newFaultyBench(t, guarded)
	op := b.propose("12")
	call := withConsent(refund("12"), external("jws-1", op, "alice"))
	store.before.Store(true)
	b.want(b.do(call), deed.Denied, deed.ReasonStoreUnavailable, 0)
	store.after.Store(true)
	b.want(b.do(call), deed.Execute, "", 1)
	b.want(b.do(call), deed.Replay, deed.ReasonStored, 1)
	b.stands(0, 12)
}
