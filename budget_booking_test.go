// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
)

// refunds spends the argument amount from a budget of 100 a day.
func refunds(change func(*deed.SpendRule)) *deed.SpendRule {
	rule := &deed.SpendRule{
		Budget: deed.Budget{Name: "refunds", Limit: eur(100), Currency: "EUR", Window: 24 * time.Hour},
		Amount: func(arguments []byte) (deed.Amount, error) {
			var call struct {
				Amount json.RawMessage `json:"amount"`
			}
			if err := json.Unmarshal(arguments, &call); err != nil {
				return 0, err
			}
			return deed.AmountOf(call.Amount)
		},
		Actual: func(result []byte) (deed.Amount, bool) {
			var said struct {
				Charged json.RawMessage `json:"charged"`
			}
			if json.Unmarshal(result, &said) != nil || said.Charged == nil {
				return 0, false
			}
			amount, err := deed.AmountOf(said.Charged)
			return amount, err == nil
		},
	}
	if change != nil {
		change(rule)
	}
	return rule
}

func eur(n int64) deed.Amount { return deed.Amount(n * 1_000_000) }

func spending(change func(*deed.SpendRule)) func(*deed.Rule) {
	return func(rule *deed.Rule) { rule.Spend = refunds(change) }
}

// order is a refund of an order of its own.
func order(n int, amount string) deed.Call {
	call := keyed(amount, runtime(fmt.Sprintf("refund:order-%d:first", n)))
	call.Arguments = []byte(fmt.Sprintf(`{"order_id":"%d","amount":%s}`, n, amount))
	return call
}

// stands checks what the budget has given out.
func (b *rig) stands(held, spent int64) {
	b.t.Helper()
	list, err := b.rt.Budgets(context.Background(), person("alice"), []deed.Budget{b.rule.Spend.Budget})
	if err != nil {
		b.t.Fatal(err)
	}
	want := []deed.BudgetStatus{{Budget: b.rule.Spend.Budget, Held: eur(held), Spent: eur(spent), Left: b.rule.Spend.Budget.Limit - eur(held) - eur(spent)}}
	if diff := cmp.Diff(want, list); diff != "" {
		b.t.Errorf("the budget (-want +got):\n%s", diff)
	}
}

func succeeded(remoteID string) deed.Outcome {
	return deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteSystem: "pay", RemoteID: remoteID}}
}

func TestMoneyIsHeldFromDispatchAndSpentOnCommit(t *testing.T) {
	b := newRig(t, spending(nil))
	b.stands(0, 0)
	_, grant := b.claim(b.rt, order(1, "30"))
	b.stands(30, 0)
	b.settle(b.rt, grant, succeeded("re_1"))
	b.stands(0, 30)
	b.want(b.do(order(1, "30")), deed.Replay, deed.ReasonResultDiscarded, 0)
	b.stands(0, 30)
}

func TestWhatDoesNotFitIsRefusedAndNamed(t *testing.T) {
	b := newRig(t, spending(nil))
	_, open := b.claim(b.rt, order(1, "40.00"))
	b.do(order(2, "56.80"))
	answer := b.do(order(3, "12.50"))
	b.want(answer, deed.Denied, deed.ReasonBudgetExceeded, 1)
	if want := "12.50 EUR does not fit budget refunds: 3.20 left, 40.00 held by unconfirmed operations"; answer.Text != want {
		t.Errorf("it says %q, want %q", answer.Text, want)
	}
	want := &deed.BudgetRefusal{Budget: "refunds", Currency: "EUR", Amount: 12_500_000, Left: 3_200_000, Held: eur(40)}
	if diff := cmp.Diff(want, answer.Budget); diff != "" {
		t.Errorf("in numbers (-want +got):\n%s", diff)
	}
	if answer.Operation != nil {
		t.Error("the key was bound")
	}
	b.want(b.do(order(3, "3.20")), deed.Execute, "", 2)
	b.settle(b.rt, open, deed.Outcome{Kind: deed.OutcomeUnsent})
	b.want(b.do(order(4, "40")), deed.Execute, "", 3)
	b.want(b.do(order(5, "0.000001")), deed.Denied, deed.ReasonBudgetExceeded, 3)
}

func TestMoneyStaysHeldWhileNobodyKnows(t *testing.T) {
	b := newRig(t, spending(nil))
	_, grant := b.claim(b.rt, order(1, "30"))
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown})
	b.clock.Advance(1000 * time.Hour)
	b.stands(30, 0)
	b.rt = b.process()
	b.stands(30, 0)
	_, lost := b.claim(b.rt, order(2, "20"))
	b.clock.Advance(time.Hour)
	if _, err := b.rt.Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
	b.stands(50, 0)
	b.settle(b.rt, lost, succeeded("re_2"))
	b.stands(30, 20)
}

// operators may do everything.
var operators = deed.Principal{Tenant: "acme", Actor: "olga", Rights: []deed.Right{deed.RightCall, deed.RightRead, deed.RightApprove, deed.RightResolve, deed.RightAdmin}}

func (b *rig) resolve(id deed.OperationID, res deed.Resolution) {
	b.t.Helper()
	res.Reason, res.Force = "looked at the provider", true
	if _, err := b.rt.Resolve(context.Background(), operators, id, res); err != nil {
		b.t.Fatal(err)
	}
}

func TestMoneyComesBackWhenNothingWasApplied(t *testing.T) {
	for name, end := range map[string]func(*rig, *deed.Grant){
		"a refusal":       func(b *rig, g *deed.Grant) { b.settle(b.rt, g, deed.Outcome{Kind: deed.OutcomeRefused}) },
		"a final refusal": func(b *rig, g *deed.Grant) { b.settle(b.rt, g, deed.Outcome{Kind: deed.OutcomeRefused, Final: true}) },
		"proved unsent":   func(b *rig, g *deed.Grant) { b.settle(b.rt, g, deed.Outcome{Kind: deed.OutcomeUnsent}) },
		"cancelled and then refused": func(b *rig, g *deed.Grant) {
			if _, err := b.rt.Cancel(context.Background(), agent, g.Operation, "changed my mind"); err != nil {
				b.t.Fatal(err)
			}
			b.stands(30, 0)
			b.settle(b.rt, g, deed.Outcome{Kind: deed.OutcomeRefused})
		},
		"a person says so": func(b *rig, g *deed.Grant) {
			b.settle(b.rt, g, deed.Outcome{Kind: deed.OutcomeUnknown})
			b.resolve(g.Operation, deed.Resolution{Outcome: deed.ResolveNotApplied})
		},
		"abandoned, then a person says so": func(b *rig, g *deed.Grant) {
			b.settle(b.rt, g, deed.Outcome{Kind: deed.OutcomeUnknown})
			b.resolve(g.Operation, deed.Resolution{Outcome: deed.ResolveAbandon})
			b.stands(0, 30)
			b.resolve(g.Operation, deed.Resolution{Outcome: deed.ResolveNotApplied})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newRig(t, spending(nil))
			_, grant := b.claim(b.rt, order(1, "30"))
			end(b, grant)
			b.stands(0, 0)
		})
	}
}

func TestARetryBooksAnew(t *testing.T) {
	b := newRig(t, spending(nil))
	_, first := b.claim(b.rt, order(1, "60"))
	b.settle(b.rt, first, deed.Outcome{Kind: deed.OutcomeUnsent})
	b.clock.Advance(time.Second)
	_, other := b.claim(b.rt, order(2, "50"))
	b.want(b.do(order(1, "60")), deed.Denied, deed.ReasonBudgetExceeded, 0)
	b.stands(50, 0)
	b.settle(b.rt, other, deed.Outcome{Kind: deed.OutcomeRefused, Final: true})
	b.want(b.do(order(1, "60")), deed.Execute, "", 1)
	b.stands(0, 60)
}

func TestALaterProofBooksAgain(t *testing.T) {
	b := newRig(t, spending(nil))
	_, grant := b.claim(b.rt, order(1, "60"))
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown})
	b.resolve(grant.Operation, deed.Resolution{Outcome: deed.ResolveNotApplied})
	b.stands(0, 0)
	b.do(order(2, "70"))
	b.settle(b.rt, grant, succeeded("re_1"))
	b.stands(0, 130)
}

func TestTwoProofsOfTwoObjectsBookTwiceAndOfOneOnce(t *testing.T) {
	b := newRig(t, spending(nil))
	_, first := b.claim(b.rt, order(1, "30"))
	b.settle(b.rt, first, deed.Outcome{Kind: deed.OutcomeUnknown})
	b.resolve(first.Operation, deed.Resolution{Outcome: deed.ResolveNotApplied})
	_, second := b.claim(b.rt, order(1, "30"))
	b.settle(b.rt, second, succeeded("re_1"))
	b.stands(0, 30)
	b.settle(b.rt, first, succeeded("re_1"))
	b.stands(0, 30)

	_, first = b.claim(b.rt, order(2, "20"))
	b.settle(b.rt, first, deed.Outcome{Kind: deed.OutcomeUnknown})
	b.resolve(first.Operation, deed.Resolution{Outcome: deed.ResolveNotApplied})
	_, second = b.claim(b.rt, order(2, "20"))
	b.settle(b.rt, first, succeeded("re_2"))
	b.stands(20, 30)
	b.settle(b.rt, second, succeeded("re_3"))
	b.stands(0, 70)
}

func TestAPersonWhoNamesSeveralObjectsBooksEach(t *testing.T) {
	b := newRig(t, spending(nil))
	_, grant := b.claim(b.rt, order(1, "30"))
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown})
	b.resolve(grant.Operation, deed.Resolution{Outcome: deed.ResolveCommitted, RemoteIDs: []string{"re_1", "re_2"}})
	b.stands(0, 60)
}

func TestAPersonWhoNamesTheObjectLaterBooksNothingMore(t *testing.T) {
	b := newRig(t, spending(nil))
	_, grant := b.claim(b.rt, order(1, "30"))
	b.settle(b.rt, grant, succeeded(""))
	b.resolve(grant.Operation, deed.Resolution{Outcome: deed.ResolveCommitted, RemoteIDs: []string{"re_1"}})
	b.stands(0, 30)
}

func TestAnotherObjectOfACommittedOperationIsStatedByForceOnly(t *testing.T) {
	b := newRig(t, spending(nil))
	_, grant := b.claim(b.rt, order(1, "30"))
	b.settle(b.rt, grant, succeeded("re_1"))
	person := deed.Principal{Tenant: "acme", Actor: "ana", Rights: []deed.Right{deed.RightRead, deed.RightResolve}}
	res := deed.Resolution{Outcome: deed.ResolveCommitted, RemoteIDs: []string{"re_1", "re_9"}, Reason: "seen"}
	_, err := b.rt.Resolve(context.Background(), person, grant.Operation, res)
	var refused *deed.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "its receipts name re_1 already: re_9 besides says that it happened more than once") {
		t.Fatalf("without force: %v", err)
	}
	b.stands(0, 30)
	same := res
	same.RemoteIDs = []string{"re_1"}
	if op, err := b.rt.Resolve(context.Background(), person, grant.Operation, same); err != nil || op.Diverged || len(op.Receipts) != 1 {
		t.Fatalf("the object that is known: %v", err)
	}
	b.stands(0, 30)
	res.Force = true
	if op, err := b.rt.Resolve(context.Background(), person, grant.Operation, res); err != nil || !op.Diverged || len(op.Receipts) != 2 {
		t.Fatalf("with force: %v", err)
	}
	b.stands(0, 60)
}

func TestWhatItReallyCostIsRecordedAndNeverRefused(t *testing.T) {
	b := newRig(t, spending(nil))
	_, grant := b.claim(b.rt, order(1, "60"))
	out := succeeded("re_1")
	out.Result = []byte(`{"charged":"140.00"}`)
	answer := b.settle(b.rt, grant, out)
	b.want(answer, deed.Execute, "", 0)
	b.stands(0, 140)
	booking := answer.Operation.Attempts[0].Bookings[0]
	if booking.Amount != eur(140) || booking.Reserved != eur(60) || booking.State != deed.BookingSpent {
		t.Errorf("booked %+v", booking)
	}
	b.want(b.do(order(2, "0")), deed.Denied, deed.ReasonBudgetExceeded, 0)

	c := newRig(t, spending(nil))
	_, grant = c.claim(c.rt, order(1, "60"))
	out.Result = []byte(`{"charged":12.34}`)
	c.settle(c.rt, grant, out)
	c.want(c.do(order(2, "87.66")), deed.Execute, "", 1)
}

func TestWhatAnEarlierAttemptReallyCostIsRecordedOnTheMoneyOfTheLater(t *testing.T) {
	b := newRig(t, spending(nil))
	_, first := b.claim(b.rt, order(1, "60"))
	b.settle(b.rt, first, deed.Outcome{Kind: deed.OutcomeUnknown})
	b.resolve(first.Operation, deed.Resolution{Outcome: deed.ResolveNotApplied})
	_, second := b.claim(b.rt, order(1, "60"))
	b.settle(b.rt, second, deed.Outcome{Kind: deed.OutcomeUnknown})
	out := succeeded("re_1")
	out.Result = []byte(`{"charged":"140.00"}`)
	b.settle(b.rt, first, out)
	b.stands(0, 140)
}

func TestWhatAnEarlierAttemptReallyCostIsRecordedWhileTheNextOneRuns(t *testing.T) {
	charged := func(id, sum string) deed.Outcome {
		out := succeeded(id)
		out.Result = []byte(`{"charged":"` + sum + `"}`)
		return out
	}
	for _, c := range []struct {
		name  string
		then  deed.Outcome
		spent int64
	}{
		{"which was refused", deed.Outcome{Kind: deed.OutcomeRefused, Final: true}, 140},
		{"of which nobody knows", deed.Outcome{Kind: deed.OutcomeUnknown}, 140},
		{"which did the same", succeeded("re_1"), 140},
		{"which did it again", succeeded("re_2"), 140 + 60},
		{"which did it again and says for how much", charged("re_2", "150"), 140 + 150},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newRig(t, spending(nil))
			_, first := b.claim(b.rt, order(1, "60"))
			b.settle(b.rt, first, deed.Outcome{Kind: deed.OutcomeUnknown})
			b.resolve(first.Operation, deed.Resolution{Outcome: deed.ResolveNotApplied})
			_, second := b.claim(b.rt, order(1, "60"))
			b.settle(b.rt, first, charged("re_1", "140"))
			b.stands(140, 0)
			b.settle(b.rt, second, c.then)
			b.stands(0, c.spent)
		})
	}
}

func TestTheCostThatALookUpFindsIsRecorded(t *testing.T) {
	d := newInDoubt(t, spending(nil))
	d.answer = d.found("re_7")
	d.answer.Matches[0].Result = []byte(`{"charged":"17.50"}`)
	d.look()
	if booking := d.op().Attempts[0].Bookings[0]; booking.Amount != 17_500_000 || booking.State != deed.BookingSpent {
		t.Errorf("booked %+v", booking)
	}
}

func TestABudgetThatHasGivenOutMoreThanCanBeCountedIsFull(t *testing.T) {
	b := newRig(t, spending(func(s *deed.SpendRule) { s.Budget.Limit = eur(999_999_999_999) }))
	var grants []*deed.Grant
	for n := range 20 {
		_, grant := b.claim(b.rt, order(n, "1"))
		grants = append(grants, grant)
	}
	for n, grant := range grants {
		out := succeeded(fmt.Sprint("re_", n))
		out.Result = []byte(`{"charged":"999999999999"}`)
		b.settle(b.rt, grant, out)
	}
	list, err := b.rt.Budgets(context.Background(), person("alice"), []deed.Budget{b.rule.Spend.Budget})
	if err != nil || len(list) != 1 || list[0].Spent != math.MaxInt64 || list[0].Left >= 0 {
		t.Errorf("%v, %+v", err, list)
	}
	b.want(b.do(order(99, "1")), deed.Denied, deed.ReasonBudgetExceeded, 0)
}

func TestAnswersToAQuestionTakeTheHeldMoneyOver(t *testing.T) {
	b := newRig(t, spending(nil))
	_, grant := b.claim(b.rt, order(1, "60"))
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeInputRequired, RequestState: []byte("state")})
	b.stands(60, 0)
	call := order(1, "60")
	call.Continuation = &deed.Continuation{State: []byte("state"), Inputs: []byte(`{"yes":true}`)}
	_, next := b.claim(b.rt, call)
	if next == nil {
		t.Fatal("the continuation was refused")
	}
	b.stands(60, 0)
	b.settle(b.rt, next, succeeded("re_1"))
	b.stands(0, 60)
}

func TestSpentMoneyCountsForItsWindow(t *testing.T) {
	b := newRig(t, spending(nil))
	b.do(order(1, "100"))
	b.clock.Advance(24*time.Hour - time.Microsecond)
	b.want(b.do(order(2, "1")), deed.Denied, deed.ReasonBudgetExceeded, 1)
	b.clock.Advance(time.Microsecond)
	b.want(b.do(order(2, "100")), deed.Execute, "", 2)

	c := newRig(t, spending(func(s *deed.SpendRule) { s.Budget.Window, s.Budget.Calendar = 0, "day" }))
	c.do(order(1, "100"))
	c.clock.Advance(12*time.Hour - time.Microsecond)
	c.want(c.do(order(2, "1")), deed.Denied, deed.ReasonBudgetExceeded, 1)
	c.clock.Advance(time.Microsecond)
	c.want(c.do(order(2, "100")), deed.Execute, "", 2)
}

func TestBudgetsAreSharedByTheirScope(t *testing.T) {
	for scope, change := range map[string]func(*deed.Call){
		deed.BudgetPerActor: func(call *deed.Call) { call.Principal.Actor = "other-agent" },
		deed.BudgetPerRun:   func(call *deed.Call) { call.Meta = map[string]string{"run": "2"} },
		deed.BudgetPerTenant: func(call *deed.Call) {
			call.Principal.Tenant = "umbrella"
		},
	} {
		t.Run(scope, func(t *testing.T) {
			b := newRig(t, spending(func(s *deed.SpendRule) { s.Budget.Scope = scope }))
			b.want(b.do(order(1, "100")), deed.Execute, "", 1)
			b.want(b.do(order(2, "1")), deed.Denied, deed.ReasonBudgetExceeded, 1)
			other := order(3, "100")
			change(&other)
			b.want(b.do(other), deed.Execute, "", 2)
		})
	}
}

func TestWhoGoesOnWithAnOperationSpendsItsActorsShare(t *testing.T) {
	b := newRig(t, spending(func(s *deed.SpendRule) { s.Budget.Scope = deed.BudgetPerActor }))
	_, grant := b.claim(b.rt, order(1, "60"))
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnsent})
	b.clock.Advance(time.Second)
	b.want(b.do(order(2, "50")), deed.Execute, "", 1)
	handed := order(1, "60")
	handed.Principal = operators
	b.want(b.do(handed), deed.Denied, deed.ReasonBudgetExceeded, 1)
}

func TestAnAmountThatCannotBeReadIsRefused(t *testing.T) {
	b := newRig(t, spending(nil))
	for _, amount := range []string{`"twelve"`, `0.0000001`, `-1`, `null`} {
		b.want(b.do(order(1, amount)), deed.Denied, deed.ReasonBadArguments, 0)
	}
	p := newRig(t, spending(func(s *deed.SpendRule) {
		s.Amount = func([]byte) (deed.Amount, error) { panic("no such field") }
	}))
	p.want(p.do(order(1, "1")), deed.Denied, deed.ReasonBadArguments, 0)
	f := newRig(t, spending(func(s *deed.SpendRule) {
		s.Amount = func([]byte) (deed.Amount, error) { return 0, errors.New("there is no amount at /total") }
	}))
	if answer := f.do(order(1, "1")); !strings.Contains(answer.Text, "/total") {
		t.Errorf("it says %q", answer.Text)
	}
}

func TestWhatWaitsForAPersonBooksOnlyWhenItRuns(t *testing.T) {
	b := newRig(t, func(rule *deed.Rule) {
		rule.Spend, rule.Approval = refunds(nil), &deed.ApprovalRule{}
	})
	b.want(b.do(order(9, "101")), deed.Denied, deed.ReasonBudgetExceeded, 0)
	first, second := b.do(order(1, "60")).Operation, b.do(order(2, "60")).Operation
	b.stands(0, 0)
	b.approve(person("alice"), first)
	b.approve(person("alice"), second)
	b.want(b.do(order(1, "60")), deed.Execute, "", 1)
	refused := b.do(order(2, "60"))
	b.want(refused, deed.Denied, deed.ReasonBudgetExceeded, 1)
	if op, _ := b.rt.Get(context.Background(), person("alice"), second.ID); op.Status != deed.StatusAuthorized {
		t.Errorf("the second is %s", op.Status)
	}
	b.stands(0, 60)
}

func TestBudgetsAreListedByShareToWhoMayRead(t *testing.T) {
	b := newRig(t, spending(func(s *deed.SpendRule) { s.Budget.Scope = deed.BudgetPerActor }))
	b.do(order(1, "10"))
	other := order(2, "20")
	other.Principal.Actor = "other-agent"
	_, _ = b.claim(b.rt, other)
	budgets := []deed.Budget{b.rule.Spend.Budget, {Name: "unused", Limit: eur(5)}}
	if _, err := b.rt.Budgets(context.Background(), agent, budgets); !errors.Is(err, deed.ErrForbidden) {
		t.Errorf("without the right to read: %v", err)
	}
	got, err := b.rt.Budgets(context.Background(), person("alice"), budgets)
	if err != nil {
		t.Fatal(err)
	}
	want := []deed.BudgetStatus{
		{Budget: budgets[0], Share: "actor:agent", Spent: eur(10), Left: eur(90)},
		{Budget: budgets[0], Share: "actor:other-agent", Held: eur(20), Left: eur(80)},
		{Budget: budgets[1], Left: eur(5)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("budgets (-want +got):\n%s", diff)
	}
}
