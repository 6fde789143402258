// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/deed-run/deed"
)

func (b *rig) edit(op *deed.Operation, arguments string) *deed.Operation {
	b.t.Helper()
	next, err := b.rt.EditAndApprove(context.Background(), person("alice"), op.ID, op.Approval.Digest, []byte(arguments), "half is enough")
	if err != nil {
		b.t.Fatal(err)
	}
	return next
}

const edited = `{"order_id":"1042","amount":6}`

func TestAnEditedCallTakesThePlaceOfTheProposed(t *testing.T) {
	b := newRig(t, approving(nil))
	op := b.propose("12")
	next := b.edit(op, edited)
	if next.ID == op.ID || next.Supersedes != op.ID || next.Status != deed.StatusAuthorized || next.Actor != op.Actor || string(next.Arguments) != edited {
		t.Errorf("the successor is %+v", next)
	}
	if next.Approval.Digest == op.Approval.Digest || len(next.Approval.Votes) != 1 || next.Approval.Votes[0].Approver != "alice" {
		t.Errorf("its approval is %+v", next.Approval)
	}
	gone, err := b.rt.Get(context.Background(), person("alice"), op.ID)
	if err != nil || gone.Status != deed.StatusCancelled || gone.Reason != deed.ReasonSuperseded || gone.SupersededBy != next.ID || gone.DecidedBy != "alice" {
		t.Errorf("the old one is %+v, %v", gone, err)
	}
	_, err = b.rt.Approve(context.Background(), person("bob"), op.ID, consentTo(op))
	b.refusedConsent(err, deed.ConsentDecided, "alice")

	var sent []byte
	ran, err := b.rt.Do(context.Background(), refund("12"), func(_ context.Context, a deed.Attempt) (deed.Receipt, error) {
		sent = a.Arguments
		return b.pay(context.Background(), a)
	})
	if err != nil {
		t.Fatal(err)
	}
	b.want(ran, deed.Execute, "", 1)
	if ran.Operation.ID != next.ID || string(sent) != edited {
		t.Errorf("the old key ran %s with %s", ran.Operation.ID, sent)
	}
	for _, amount := range []string{"12", "6"} {
		again := b.do(refund(amount))
		b.want(again, deed.Replay, deed.ReasonStored, 1)
		if again.Operation.ID != next.ID {
			t.Errorf("%s answers as %s", amount, again.Operation.ID)
		}
	}
	b.want(b.do(refund("7")), deed.Conflict, deed.ReasonKeyReused, 1)
}

func TestTheGrantOfAnEditedCallHoldsTheEditedBytes(t *testing.T) {
	b := newRig(t, func(rule *deed.Rule) { rule.Approval, rule.Wait = &deed.ApprovalRule{}, -1 })
	b.edit(b.propose("12"), edited)
	_, grant := b.claim(b.rt, refund("12"))
	if grant == nil || string(grant.Arguments) != edited {
		t.Fatalf("granted %+v", grant)
	}
	b.want(b.do(refund("6")), deed.InProgress, deed.ReasonLeaseLive, 0)
	b.settle(b.rt, grant, succeeded("re_1"))
	b.want(b.do(refund("12")), deed.Replay, deed.ReasonResultDiscarded, 0)
}

func TestAnEditedCallIsRunByItselfToo(t *testing.T) {
	b := newRig(t, approving(nil))
	next := b.edit(b.propose("12"), edited)
	ready, err := b.rt.Ready(context.Background(), 10)
	if err != nil || len(ready) != 1 || ready[0].ID != next.ID {
		t.Fatalf("ready %v, %v", idsOf(ready), err)
	}
	call, err := b.rt.CallOfAuthorized(context.Background(), "acme", next.ID)
	if err != nil {
		t.Fatal(err)
	}
	b.want(b.do(call), deed.Execute, "", 1)
	b.want(b.do(refund("12")), deed.Replay, deed.ReasonStored, 1)
}

func TestWhatWasSupersededIsNotRunByItsOwnID(t *testing.T) {
	b := newRig(t, approving(nil))
	op := b.propose("12")
	b.edit(op, edited)
	call, err := b.rt.CallOf(context.Background(), operators, op.ID)
	if err != nil {
		t.Fatal(err)
	}
	b.want(b.do(call), deed.Denied, deed.ReasonCancelled, 0)
}

func TestAnEditedCallWaitsForTheRestOfItsQuorum(t *testing.T) {
	b := newRig(t, approving(func(a *deed.ApprovalRule) { a.Quorum = 2 }))
	op := b.propose("12")
	b.approve(person("bob"), op)
	next := b.edit(op, edited)
	if next.Status != deed.StatusAwaitingApproval || len(next.Approval.Votes) != 1 {
		t.Fatalf("it is %s with %+v", next.Status, next.Approval.Votes)
	}
	b.want(b.do(refund("12")), deed.AwaitingApproval, deed.ReasonPending, 0)
	b.approve(person("bob"), next)
	b.want(b.do(refund("6")), deed.Execute, "", 1)
}

func TestACallMayBeEditedTwice(t *testing.T) {
	b := newRig(t, approving(func(a *deed.ApprovalRule) { a.Quorum = 2 }))
	first := b.edit(b.propose("12"), edited)
	second, err := b.rt.EditAndApprove(context.Background(), person("bob"), first.ID, first.Approval.Digest, []byte(`{"order_id":"1042","amount":3}`), "a quarter")
	if err != nil {
		t.Fatal(err)
	}
	b.approve(person("alice"), second)
	for i, amount := range []string{"12", "6", "3"} {
		answer := b.do(refund(amount))
		if i == 0 {
			b.want(answer, deed.Execute, "", 1)
		} else {
			b.want(answer, deed.Replay, deed.ReasonStored, 1)
		}
		if answer.Operation.ID != second.ID {
			t.Errorf("%s answers as %s, want %s", amount, answer.Operation.ID, second.ID)
		}
	}
}

func TestTheSuccessorKeepsTheToolsOwnKeyOutOfItsEffect(t *testing.T) {
	b := newRig(t, approving(nil))
	call := func(amount string) deed.Call {
		c := refund(amount)
		c.KeyArgument = "idempotency_key"
		c.Arguments = []byte(`{"order_id":"1042","amount":` + amount + `,"idempotency_key":"` + string(firstKey) + `"}`)
		return c
	}
	op := b.do(call("12")).Operation
	b.edit(op, string(call("6").Arguments))
	b.want(b.do(call("6")), deed.Execute, "", 1)
	b.want(b.do(call("12")), deed.Replay, deed.ReasonStored, 1)
}

func TestWhatCannotBeEditedIsLeftAlone(t *testing.T) {
	ctx := context.Background()
	b := newRig(t, func(rule *deed.Rule) {
		rule.Approval = &deed.ApprovalRule{Approvers: []deed.Actor{"alice", "agent"}}
		rule.Deny = func(arguments []byte, _ deed.Principal) string {
			if strings.Contains(string(arguments), "1000") {
				return "refunds above 50 are not for agents"
			}
			return ""
		}
	})
	op := b.propose("12")
	_, err := b.rt.EditAndApprove(ctx, person("alice"), op.ID, "sha256:other", []byte(edited), "")
	b.refusedConsent(err, deed.ConsentOtherDigest, string(op.Approval.Digest))
	_, err = b.rt.EditAndApprove(ctx, person("agent"), op.ID, op.Approval.Digest, []byte(edited), "")
	b.refusedConsent(err, deed.ConsentOwn, "")
	_, err = b.rt.EditAndApprove(ctx, person("mallory"), op.ID, op.Approval.Digest, []byte(edited), "")
	b.refusedConsent(err, deed.ConsentNotApprover, "")
	reader := deed.Principal{Tenant: "acme", Actor: "alice", Rights: []deed.Right{deed.RightRead}}
	if _, err = b.rt.EditAndApprove(ctx, reader, op.ID, op.Approval.Digest, []byte(edited), ""); !errors.Is(err, deed.ErrForbidden) {
		t.Errorf("without the right: %v", err)
	}
	if _, err = b.rt.EditAndApprove(ctx, person("alice"), op.ID, op.Approval.Digest, []byte(`{"amount":1000}`), ""); err == nil || !strings.Contains(err.Error(), "above 50") {
		t.Errorf("against policy: %v", err)
	}
	if _, err = b.rt.EditAndApprove(ctx, person("alice"), op.ID, op.Approval.Digest, []byte(`{"amount":`), ""); err == nil {
		t.Error("what is no JSON was taken")
	}
	b.rule.Matter, b.rule.Revision = []string{"/order_id"}, "2"
	if _, err = b.process().EditAndApprove(ctx, person("alice"), op.ID, op.Approval.Digest, []byte(edited), ""); err == nil || !strings.Contains(err.Error(), "other rules") {
		t.Errorf("under other rules: %v", err)
	}
	b.approve(person("alice"), op)
	_, err = b.rt.EditAndApprove(ctx, person("alice"), op.ID, op.Approval.Digest, []byte(edited), "")
	b.refusedConsent(err, deed.ConsentDecided, "approved by alice")
}

func TestAnEditedCallBooksWhatItCosts(t *testing.T) {
	b := newRig(t, func(rule *deed.Rule) { rule.Spend, rule.Approval = refunds(nil), &deed.ApprovalRule{} })
	b.edit(b.propose("12"), edited)
	b.want(b.do(refund("12")), deed.Execute, "", 1)
	b.stands(0, 6)
}

func TestAnEditThatTheSchemaRefusesChangesNothing(t *testing.T) {
	b := newRig(t, approving(nil))
	op := b.propose("12")
	var asked []string
	var unchecked error
	rt, err := deed.New(deed.Options{
		Store: b.store, Clock: b.clock, Policy: deed.FixedPolicy{"pay/refund": b.rule},
		CheckEdited: func(_ context.Context, of *deed.Operation, arguments []byte) (string, error) {
			asked = append(asked, string(of.Tool)+" "+string(arguments))
			if strings.Contains(string(arguments), `"much"`) {
				return "at '/amount': got string, want number", nil
			}
			return "", unchecked
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rt.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	history := func() int {
		events, err := rt.Events(context.Background(), person("alice"), op.ID)
		if err != nil {
			t.Error(err)
		}
		return len(events)
	}
	before := history()
	_, err = rt.EditAndApprove(context.Background(), person("alice"), op.ID, op.Approval.Digest, []byte(`{"order_id":"1042","amount":"much"}`), "half is enough")
	if !errors.Is(err, deed.ErrArguments) || !strings.Contains(err.Error(), "at '/amount': got string, want number") {
		t.Errorf("an edit against the schema: %v", err)
	}
	stands := func() {
		t.Helper()
		now, err := rt.Get(context.Background(), person("alice"), op.ID)
		if err != nil || now.Version != op.Version || now.Status != deed.StatusAwaitingApproval || history() != before {
			t.Errorf("it was written that it is %+v, %v", now, err)
		}
	}
	stands()
	unchecked = errors.New("its server does not answer")
	_, err = rt.EditAndApprove(context.Background(), person("alice"), op.ID, op.Approval.Digest, []byte(edited), "half is enough")
	if !errors.Is(err, deed.ErrUnchecked) || !errors.Is(err, unchecked) {
		t.Errorf("an edit that nobody could check: %v", err)
	}
	stands()
	unchecked, asked = nil, asked[:1]
	viewer := deed.Principal{Tenant: "acme", Actor: "vera", Rights: []deed.Right{deed.RightRead}}
	if _, err := rt.EditAndApprove(context.Background(), viewer, op.ID, op.Approval.Digest, []byte(edited), "half"); !errors.Is(err, deed.ErrForbidden) || len(asked) != 1 {
		t.Errorf("somebody without the right to approve: %v, asked %q", err, asked)
	}
	next, err := rt.EditAndApprove(context.Background(), person("alice"), op.ID, op.Approval.Digest, []byte(edited), "half is enough")
	if err != nil || next.Status != deed.StatusAuthorized || asked[1] != string(op.Tool)+" "+edited {
		t.Errorf("an edit within the schema: %+v, %v, asked %q", next, err, asked)
	}
}
