// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// damaged is a ledger in which a person, a disk or another program has put other arguments or another result in the place of what was recorded.
type damaged struct {
	deed.Store
	from, to []byte
}

func (d *damaged) view(v deed.View) deed.View {
	op := v.Operation
	switch {
	case op == nil || d.from == nil:
	case bytes.Equal(op.Arguments, d.from):
		op.Arguments = d.to
	case bytes.Equal(op.Result, d.from):
		op.Result = d.to
	}
	return v
}

func (d *damaged) Load(ctx context.Context, scope deed.Scope) (deed.View, error) {
	v, err := d.Store.Load(ctx, scope)
	return d.view(v), err
}

func (d *damaged) Transact(ctx context.Context, scope deed.Scope, change func(deed.View) (deed.Change, error)) (deed.View, error) {
	v, err := d.Store.Transact(ctx, scope, func(v deed.View) (deed.Change, error) { return change(d.view(v)) })
	return d.view(v), err
}

func TestArgumentsThatAreNotTheFrozenOnesAreNotSent(t *testing.T) {
	b := newRig(t, approving(nil))
	store := &damaged{Store: b.store, to: []byte(`{"order_id":"1042","amount":1200}`)}
	b.store = store
	b.rt = b.process()
	op := b.approve(person("alice"), b.propose("12"))

	store.from = op.Arguments
	answer := b.do(refund("12"))
	b.want(answer, deed.Denied, deed.ReasonStoreUnavailable, 0)
	for _, part := range []string{string(op.ID), "damaged", "nothing was sent", string(op.PayloadDigest)} {
		if !strings.Contains(answer.Text, part) {
			t.Errorf("%q is missing in %q", part, answer.Text)
		}
	}

	store.from = nil // the copy is restored: the approval still holds
	b.want(b.do(refund("12")), deed.Execute, "", 1)
}

// Whoever changes the record while a person looks at it, and changes it back, must
// have the person agree to nothing that was not shown.
func TestArgumentsThatAreNotTheFrozenOnesAreNeitherShownNorApproved(t *testing.T) {
	b := newRig(t, approving(nil))
	store := &damaged{Store: b.store, to: []byte(`{"order_id":"1042","amount":1200}`)}
	b.store = store
	b.rt = b.process()
	op := b.propose("12")
	store.from = op.Arguments
	_, shown := b.rt.Get(context.Background(), person("alice"), op.ID)
	_, approved := b.rt.Approve(context.Background(), person("alice"), op.ID, deed.Consent{Digest: op.Approval.Digest})
	_, edited := b.rt.EditAndApprove(context.Background(), person("alice"), op.ID, op.Approval.Digest, []byte(`{"order_id":"1042","amount":11}`), "")
	for what, err := range map[string]error{"shown": shown, "approved": approved, "edited": edited} {
		if !errors.Is(err, deed.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := b.rt.Events(context.Background(), person("alice"), op.ID); err != nil {
		t.Errorf("its history, in which no arguments stand: %v", err)
	}
	if _, err := b.rt.Deny(context.Background(), person("alice"), op.ID, deed.Consent{Digest: op.Approval.Digest, Reason: "the record is damaged"}); err != nil {
		t.Error(err)
	}
}

func TestADamagedRetryIsNotSentEither(t *testing.T) {
	b := newRig(t, nil)
	store := &damaged{Store: b.store, to: []byte(`{"order_id":"1042","amount":1200}`)}
	b.store = store
	b.rt = b.process()
	refused := func(context.Context, deed.Attempt) (deed.Receipt, error) {
		return deed.Receipt{}, deed.NotSent(errors.New("connection refused"))
	}
	first, err := b.rt.Do(context.Background(), refund("12"), refused)
	if err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Minute)
	store.from = first.Operation.Arguments
	b.want(b.do(refund("12")), deed.Denied, deed.ReasonStoreUnavailable, 0)
}

func TestNothingIsLookedUpByArgumentsThatWereNotSent(t *testing.T) {
	d := newInDoubt(t, nil)
	store := &damaged{Store: d.store, to: []byte(`{"order_id":"1042","amount":1200}`)}
	store.from = d.op().Arguments
	d.store = store
	d.rt = d.start(d.clock)
	d.clock.Advance(time.Hour)
	d.answer = nothing
	for range 3 {
		d.clock.Advance(time.Minute)
		if f := d.look(); f.Counted != deed.VerdictUndetermined || !strings.Contains(f.Verdict.Evidence, "damaged") {
			t.Fatalf("counted as %s: %s", f.Counted, f.Verdict.Evidence)
		}
	}
	if len(d.asked) > 0 {
		t.Errorf("the provider was asked for %s", d.asked[0].Operation.Arguments)
	}

	store.from = nil // the copy is restored
	d.answer = d.found("re_1")
	d.look()
	d.wantStatus(deed.StatusCommitted, "")
}

func TestAResultThatIsNotTheRecordedOneIsShownToNobody(t *testing.T) {
	b := newRig(t, nil)
	store := &damaged{Store: b.store, to: []byte(`{"refunded":1200}`)}
	b.store = store
	b.rt = b.process()
	effect := func(context.Context, deed.Attempt) (deed.Receipt, error) {
		return deed.Receipt{RemoteSystem: "payments", RemoteID: "re_1", Result: []byte(`{"refunded":12}`)}, nil
	}
	if _, err := b.rt.Do(context.Background(), refund("12"), effect); err != nil {
		t.Fatal(err)
	}
	replayed := func() deed.Answer {
		t.Helper()
		answer, err := b.rt.Do(context.Background(), refund("12"), effect)
		if err != nil || answer.Decision != deed.Replay {
			t.Fatalf("%s, %v", answer.Decision, err)
		}
		return answer
	}
	if got := replayed(); string(got.Result) != `{"refunded":12}` {
		t.Fatalf("the saved result is %q", got.Result)
	}
	store.from = []byte(`{"refunded":12}`)
	got := replayed()
	if got.Reason != deed.ReasonResultDiscarded || len(got.Result)+len(got.Operation.Result) > 0 || got.Operation.Receipt().RemoteID != "re_1" {
		t.Errorf("the answer is %s with %q and receipt %+v; want the receipt alone", got.Reason, got.Result, got.Operation.Receipt())
	}
	store.from = nil
	if got := replayed(); string(got.Result) != `{"refunded":12}` {
		t.Errorf("after the copy was restored the result is %q", got.Result)
	}
}
