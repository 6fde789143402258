// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
)

// worldLimit holds two or three of the calls that there are.
const worldLimit = 3

func worldSpend() *deed.SpendRule {
	return refunds(func(s *deed.SpendRule) { s.Budget.Limit, s.Budget.Window = eur(worldLimit), 0 })
}

// given adds up what the ledger says that the budget has given out.
func (w *world) given(t *rapid.T) deed.BudgetSum {
	view, err := w.store.Load(context.Background(), deed.Scope{Tenant: "acme", Budgets: []deed.BudgetQuery{{Budget: worldSpend().Budget}}})
	if err != nil {
		t.Fatal(err)
	}
	return view.Budgets[0]
}

// fits checks that nothing is granted beyond the budget.
func (w *world) fits(t *rapid.T) {
	if sum := w.given(t); w.guarded && sum.Held+sum.Spent > eur(worldLimit) {
		t.Fatalf("granted with %s held and %s spent of %d", sum.Held, sum.Spent, worldLimit)
	}
}

// decide lets somebody say something about some operation.
func (w *world) decide(t *rapid.T, verb func(*deed.Runtime, deed.Principal, *deed.Operation) error) {
	page, err := w.processes[0].List(context.Background(), operator, deed.Query{})
	if err != nil || len(page.Operations) == 0 {
		t.Skip("nothing was asked for")
	}
	op := rapid.SampledFrom(page.Operations).Draw(t, "operation")
	if op.Approval == nil {
		t.Skip("it needed no consent")
	}
	who := person(rapid.SampledFrom([]deed.Actor{"alice", "bob", "carol", "agent"}).Draw(t, "person"))
	err = verb(w.processes[rapid.IntRange(0, len(w.processes)-1).Draw(t, "process")], who, op)
	var no *deed.ConsentError
	if err != nil && !errors.As(err, &no) {
		t.Fatal(err)
	}
}

func (w *world) approve(t *rapid.T) {
	w.decide(t, func(rt *deed.Runtime, who deed.Principal, op *deed.Operation) error {
		_, err := rt.Approve(context.Background(), who, op.ID, consentTo(op))
		return err
	})
}

// agree lets two people consent to what waits.
func (w *world) agree(t *rapid.T) {
	page, err := w.processes[0].List(context.Background(), operator, deed.Query{Statuses: []deed.Status{deed.StatusAwaitingApproval}})
	if err != nil || len(page.Operations) == 0 {
		t.Skip("nothing waits")
	}
	op := rapid.SampledFrom(page.Operations).Draw(t, "operation")
	for _, who := range []deed.Actor{"alice", "bob"} {
		var no *deed.ConsentError
		if _, err := w.processes[0].Approve(context.Background(), person(who), op.ID, consentTo(op)); err != nil && !errors.As(err, &no) {
			t.Fatal(err)
		}
	}
}

func (w *world) deny(t *rapid.T) {
	w.decide(t, func(rt *deed.Runtime, who deed.Principal, op *deed.Operation) error {
		_, err := rt.Deny(context.Background(), who, op.ID, consentTo(op))
		return err
	})
}

// checkGuards holds consent and money against what became of the operations.
func (w *world) checkGuards(t *rapid.T) {
	w.check(t)
	page, err := w.processes[0].List(context.Background(), operator, deed.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var held, spent deed.Amount
	for _, op := range page.Operations {
		w.checkConsent(t, op)
		if len(op.Attempts) == 0 {
			continue
		}
		cost := op.Attempts[0].Bookings[0].Amount
		switch op.State() {
		case deed.StateExecuting, deed.StateAwaitingInput, deed.StateUncertain:
			held += cost
		case deed.StateAbandoned:
			spent += cost
		case deed.StateCommitted:
			objects := map[string]bool{}
			for _, receipt := range op.Receipts {
				objects[receipt.RemoteID] = true
			}
			delete(objects, "")
			spent += cost * deed.Amount(max(1, len(objects)))
		}
	}
	if sum := w.given(t); sum.Held != held || sum.Spent != spent {
		t.Fatalf("the budget says %s held and %s spent, the operations say %s and %s", sum.Held, sum.Spent, held, spent)
	}
}

// checkConsent: what was ever begun was consented to by two others, once for
// each proposal, in the order of its history.
func (w *world) checkConsent(t *rapid.T, op *deed.Operation) {
	events, err := w.store.Events(context.Background(), deed.EventQuery{Tenant: "acme", Operation: op.ID, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	votes := map[deed.Actor]bool{}
	for _, event := range events {
		switch event.Name {
		case deed.EventProposed, deed.EventProposalVoided:
			clear(votes)
		case deed.EventApproved:
			if votes[event.Actor] || event.Actor == op.Actor {
				t.Fatalf("%s: %s consented twice, or to their own request", op.ID, event.Actor)
			}
			votes[event.Actor] = true
		case deed.EventBegun:
			if len(votes) != 2 {
				t.Fatalf("%s was begun with %d consents", op.ID, len(votes))
			}
		}
	}
	if len(op.Attempts) > 0 && op.Approval.SpentAt.IsZero() && op.Status != deed.StatusAwaitingApproval && op.Status != deed.StatusAuthorized && op.Status != deed.StatusExpired && op.Status != deed.StatusDenied && op.Status != deed.StatusCancelled && op.Status != deed.StatusCommitted {
		t.Fatalf("%s was begun and its approval is not spent; it is %s", op.ID, op.Status)
	}
}

// guardedEvents are what these schedules must lead to, or they prove nothing.
var guardedEvents = []deed.EventName{
	deed.EventProposed, deed.EventApproved, deed.EventApprovalDenied, deed.EventBegun, deed.EventSucceeded,
	deed.EventApprovalLapsed, deed.EventResolvedNot, "denied",
}

func guardedSchedule(seen map[deed.EventName]int) func(*rapid.T) {
	return func(t *rapid.T) {
		clock := storetest.NewClock(noon)
		w := &world{
			clock: clock, store: storetest.NewMemory(clock), guarded: true, seen: seen,
			effects: map[deed.OperationID]int{}, permitted: map[deed.OperationID]int{}, told: map[deed.OperationID]string{},
			proofs: map[deed.OperationID]bool{}, committed: map[deed.OperationID]bool{},
		}
		w.processes = []*deed.Runtime{w.start(t), w.start(t)}
		t.Repeat(map[string]func(*rapid.T){
			"call": w.call, "call again": w.call, "call once more": w.call,
			"approve": w.approve, "agree": w.agree, "agree again": w.agree, "deny": w.deny,
			"send": w.send, "send another": w.send, "provide": w.provide, "provide another": w.provide,
			"reply": w.reply, "cut": w.cut, "crash": w.crash, "advance": w.advance, "renew": w.renew,
			"recover": w.pass, "resolve": w.resolve, "cancel": w.cancel, "": w.checkGuards,
		})
	}
}

func TestRandomSchedulesWithConsentAndMoney(t *testing.T) {
	seen := map[deed.EventName]int{}
	missing := func() (list []deed.EventName) {
		for _, event := range guardedEvents {
			if seen[event] == 0 {
				list = append(list, event)
			}
		}
		return list
	}
	for round := 0; round < 200 && (round == 0 || len(missing()) > 0); round++ {
		rapid.Check(t, guardedSchedule(seen))
	}
	if never := missing(); len(never) > 0 {
		t.Errorf("no schedule ever led to %q", never)
	}
}
