// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// RunTogether checks what holds between several processes: stores are handles
// of their own on one empty ledger, as processes have them, with the clocks of
// the ledger.
func RunTogether(t *testing.T, open func(t *testing.T) []deed.Store) {
	t.Run("spenders never exceed a budget", func(t *testing.T) { spendTogether(t, open(t)) })
	t.Run("a budget for ten lets exactly ten of 32 through", func(t *testing.T) { fillTogether(t, open(t)) })
	t.Run("an edited proposal is found, run and replayed everywhere", func(t *testing.T) { editTogether(t, open(t)) })
	t.Run("of two hundred who approve one proposal one does, and the others are told", func(t *testing.T) { approveTogether(t, open(t)) })
}

const payTool deed.Tool = "pay/refund"

var (
	payer     = deed.Principal{Tenant: tenant, Actor: "agent", Rights: []deed.Right{deed.RightCall, deed.RightRead}}
	payBudget = deed.Budget{Name: "refunds", Limit: units(100), Currency: "EUR", Window: 24 * time.Hour}
)

// processes starts a Runtime on each of the stores.
func processes(t *testing.T, stores []deed.Store, rule deed.Rule) []*deed.Runtime {
	t.Helper()
	var list []*deed.Runtime
	for _, store := range stores {
		rt, err := deed.New(deed.Options{Store: store, Policy: deed.FixedPolicy{payTool: rule}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := rt.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		list = append(list, rt)
	}
	return list
}

// payRule books the argument amount.
func payRule() deed.Rule {
	rule := deed.DefaultRule(payTool)
	rule.Rate, rule.Repeat = deed.Limit{N: -1}, deed.Limit{N: -1}
	rule.Spend = &deed.SpendRule{Budget: payBudget, Amount: func(arguments []byte) (deed.Amount, error) {
		var call struct {
			Amount json.RawMessage `json:"amount"`
		}
		if err := json.Unmarshal(arguments, &call); err != nil {
			return 0, err
		}
		return deed.AmountOf(call.Amount)
	}}
	return rule
}

func payCall(n int) deed.Call {
	return deed.Call{
		Principal: payer, Tool: payTool, Key: deed.OperationKey(fmt.Sprintf("refund:order-%06d:first", n)),
		Arguments: fmt.Appendf(nil, `{"order_id":"%d","amount":10}`, n),
	}
}

const (
	spenders = 64
	spends   = 4
)

// spendTogether lets 64 spenders begin, and end in every way there is, while
// the budget is looked at all the time.
func spendTogether(t *testing.T, stores []deed.Store) {
	runtimes := processes(t, stores, payRule())
	sampled := make(chan struct{})
	stop := make(chan struct{})
	go func() {
		defer close(sampled)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, store := range stores {
				within(t, store)
			}
		}
	}()
	var committed, refused counter
	var done sync.WaitGroup
	for i := range spenders {
		done.Go(func() {
			rt := runtimes[i%len(runtimes)]
			for n := range spends {
				answer, grant, err := rt.Claim(context.Background(), payCall(i*spends+n))
				switch {
				case err != nil:
					t.Errorf("claim: %v", err)
				case grant == nil && answer.Reason == deed.ReasonBudgetExceeded:
					refused.add()
				case grant == nil:
					t.Errorf("claim: %s(%s) %s", answer.Decision, answer.Reason, answer.Text)
				default:
					if settleSomehow(t, rt, grant, i+n) {
						committed.add()
					}
				}
			}
		})
	}
	done.Wait()
	close(stop)
	<-sampled
	sum := within(t, stores[0])
	if sum.Spent != units(int64(10*committed.n)) || committed.n+refused.n == 0 {
		t.Errorf("%s is spent by %d commits, %d were refused", sum.Spent, committed.n, refused.n)
	}
}

// fillTogether lets 16 pay at once, and then 16 more.
func fillTogether(t *testing.T, stores []deed.Store) {
	runtimes := processes(t, stores, payRule())
	var executed, refused counter
	for round := range 2 {
		all(16, func(i int) {
			rt := runtimes[i%len(runtimes)]
			answer, grant, err := rt.Claim(context.Background(), payCall(16*round+i))
			switch {
			case err != nil:
				t.Error(err)
			case grant != nil:
				executed.add()
				if _, err := rt.Settle(context.Background(), grant, deed.Outcome{Kind: deed.OutcomeSuccess}); err != nil {
					t.Error(err)
				}
			case answer.Decision == deed.Denied && answer.Reason == deed.ReasonBudgetExceeded:
				refused.add()
			default:
				t.Errorf("%s(%s) %s", answer.Decision, answer.Reason, answer.Text)
			}
		})
	}
	if executed.n != 10 || refused.n != 22 {
		t.Errorf("%d executed, %d were refused", executed.n, refused.n)
	}
}

// settleSomehow commits every third attempt; the others give their money back.
func settleSomehow(t *testing.T, rt *deed.Runtime, grant *deed.Grant, n int) (committed bool) {
	kind := []deed.OutcomeKind{deed.OutcomeSuccess, deed.OutcomeRefused, deed.OutcomeUnsent}[n%3]
	answer, err := rt.Settle(context.Background(), grant, deed.Outcome{
		Kind: kind, Final: true, Receipt: deed.Receipt{RemoteSystem: "pay", RemoteID: string(grant.Operation)},
	})
	if err != nil || answer.Reason == deed.ReasonOutcomeUnknown {
		t.Errorf("settle: %s(%s), %v", answer.Decision, answer.Reason, err)
	}
	return kind == deed.OutcomeSuccess
}

// within samples the budget and checks it.
func within(t *testing.T, store deed.Store) deed.BudgetSum {
	view, err := store.Load(context.Background(), deed.Scope{Tenant: tenant, Budgets: []deed.BudgetQuery{{Budget: payBudget}}})
	if err != nil || len(view.Budgets) != 1 {
		t.Errorf("sampling: %v, %v", view.Budgets, err)
		return deed.BudgetSum{}
	}
	sum := view.Budgets[0]
	if sum.Held+sum.Spent > payBudget.Limit {
		t.Errorf("%s held and %s spent of %s", sum.Held, sum.Spent, payBudget.Limit)
	}
	return sum
}

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

const approvers = 200

// approveTogether lets 200 people approve one proposal at once, then as many
// callers run it.
func approveTogether(t *testing.T, stores []deed.Store) {
	rule := deed.DefaultRule(payTool)
	rule.Approval = &deed.ApprovalRule{}
	runtimes := processes(t, stores, rule)
	answer, _, err := runtimes[0].Claim(context.Background(), payCall(1))
	if err != nil || answer.Decision != deed.AwaitingApproval {
		t.Fatalf("claim: %s(%s) %s, %v", answer.Decision, answer.Reason, answer.Text, err)
	}
	op := answer.Operation
	var mu sync.Mutex
	var winners []string
	var told [][]string
	all(approvers, func(i int) {
		name := fmt.Sprintf("approver-%d", i)
		who := deed.Principal{Tenant: tenant, Actor: deed.Actor(name), Rights: []deed.Right{deed.RightRead, deed.RightApprove}}
		_, err := runtimes[i%len(runtimes)].Approve(context.Background(), who, op.ID, deed.Consent{Digest: op.Approval.Digest})
		mu.Lock()
		defer mu.Unlock()
		var no *deed.ConsentError
		switch {
		case err == nil:
			winners = append(winners, name)
		case errors.As(err, &no) && no.Problem == deed.ConsentDecided:
			told = append(told, no.By)
		default:
			t.Errorf("%s: %v", name, err)
		}
	})
	if len(winners) != 1 || len(told) != approvers-1 {
		t.Fatalf("%d approved, %d were told", len(winners), len(told))
	}
	for _, by := range told {
		if !slices.Equal(by, winners) {
			t.Errorf("somebody was told of %v, the winner is %v", by, winners)
		}
	}
	var granted counter
	all(approvers, func(i int) {
		call := payCall(1)
		answer, grant, err := runtimes[i%len(runtimes)].Claim(context.Background(), call)
		switch {
		case err != nil:
			t.Error(err)
		case grant != nil:
			granted.add()
			if _, err := runtimes[i%len(runtimes)].Settle(context.Background(), grant, deed.Outcome{Kind: deed.OutcomeSuccess, Result: []byte(`{}`)}); err != nil {
				t.Error(err)
			}
		case answer.Decision != deed.Replay:
			t.Errorf("%s(%s) %s", answer.Decision, answer.Reason, answer.Text)
		}
	})
	if granted.n != 1 {
		t.Errorf("the approval was spent %d times", granted.n)
	}
}

// editTogether edits on one process what another was asked for, and runs it
// on the first.
func editTogether(t *testing.T, stores []deed.Store) {
	rule := payRule()
	rule.Approval = &deed.ApprovalRule{}
	runtimes := processes(t, stores, rule)
	here, there := runtimes[0], runtimes[len(runtimes)-1]
	answer, _, err := here.Claim(context.Background(), payCall(1))
	if err != nil || answer.Decision != deed.AwaitingApproval {
		t.Fatalf("claim: %s(%s) %s, %v", answer.Decision, answer.Reason, answer.Text, err)
	}
	alice := deed.Principal{Tenant: tenant, Actor: "alice", Rights: []deed.Right{deed.RightRead, deed.RightApprove}}
	old, arguments := answer.Operation, []byte(`{"order_id":"1","amount":4}`)
	next, err := there.EditAndApprove(context.Background(), alice, old.ID, old.Approval.Digest, arguments, "less will do")
	if err != nil {
		t.Fatal(err)
	}
	ready, err := here.Ready(context.Background(), 10)
	if err != nil || len(ready) != 1 || ready[0].ID != next.ID {
		t.Errorf("ready: %v, %v", ids(ready), err)
	}
	answer, grant, err := here.Claim(context.Background(), payCall(1))
	if err != nil || grant == nil || grant.Operation != next.ID || string(grant.Arguments) != string(arguments) {
		t.Fatalf("claim: %s(%s) %s, %+v, %v", answer.Decision, answer.Reason, answer.Text, grant, err)
	}
	if _, err := here.Settle(context.Background(), grant, deed.Outcome{Kind: deed.OutcomeSuccess, Result: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	edited := payCall(1)
	edited.Arguments = arguments
	for _, call := range []deed.Call{payCall(1), edited} {
		answer, _, err := there.Claim(context.Background(), call)
		if err != nil || answer.Decision != deed.Replay || answer.Operation.ID != next.ID {
			t.Errorf("%s answers %s(%s) %s, %v", call.Arguments, answer.Decision, answer.Reason, answer.Text, err)
		}
	}
	if sum := within(t, stores[0]); sum.Spent != units(4) || sum.Held != 0 {
		t.Errorf("%s is held and %s spent", sum.Held, sum.Spent)
	}
}

// all runs do n times at once.
func all(n int, do func(i int)) {
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() { do(i) })
	}
	done.Wait()
}
