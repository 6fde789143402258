// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a Runtime over the reference store with a provider that counts.
type rig struct {
	t       *testing.T
	clock   *storetest.Clock
	store   deed.Store
	rt      *deed.Runtime
	rule    deed.Rule
	effects atomic.Int64
}

// agent may call; it sees only its own operations.
var agent = deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightCall}}

const firstKey = deed.OperationKey("refund:order-1042:first")

func newRig(t *testing.T, change func(*deed.Rule)) *rig {
	t.Helper()
	clock := storetest.NewClock(noon)
	b := &rig{t: t, clock: clock, store: storetest.NewMemory(clock), rule: deed.DefaultRule("pay/refund")}
	if change != nil {
		change(&b.rule)
	}
	b.rt = b.process()
	return b
}

// process starts another Runtime over the same ledger.
func (b *rig) process() *deed.Runtime {
	b.t.Helper()
	rt, err := deed.New(deed.Options{Store: b.store, Clock: b.clock, Policy: deed.FixedPolicy{"pay/refund": b.rule}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := rt.Close(context.Background()); err != nil {
			b.t.Error(err)
		}
	})
	return rt
}

func refund(amount string) deed.Call {
	return deed.Call{
		Principal: agent, Tool: "pay/refund", Key: firstKey,
		Arguments: []byte(`{"order_id":"1042","amount":` + amount + `}`),
	}
}

// pay is the effect: it counts.
func (b *rig) pay(context.Context, deed.Attempt) (deed.Receipt, error) {
	n := b.effects.Add(1)
	id := fmt.Sprintf("re_%d", n)
	return deed.Receipt{RemoteSystem: "pay", RemoteID: id, Result: []byte(`{"id":"` + id + `"}`)}, nil
}

func (b *rig) do(call deed.Call) deed.Answer {
	b.t.Helper()
	answer, err := b.rt.Do(context.Background(), call, b.pay)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer
}

func (b *rig) claim(rt *deed.Runtime, call deed.Call) (deed.Answer, *deed.Grant) {
	b.t.Helper()
	answer, grant, err := rt.Claim(context.Background(), call)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer, grant
}

func (b *rig) settle(rt *deed.Runtime, g *deed.Grant, out deed.Outcome) deed.Answer {
	b.t.Helper()
	answer, err := rt.Settle(context.Background(), g, out)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer
}

// want checks decision, reason and the number of effects that really happened.
func (b *rig) want(answer deed.Answer, decision deed.Decision, reason deed.Reason, effects int64) {
	b.t.Helper()
	if answer.Decision != decision || answer.Reason != reason {
		b.t.Errorf("got %s(%s) %s, want %s(%s)", answer.Decision, answer.Reason, answer.Text, decision, reason)
	}
	if n := b.effects.Load(); n != effects {
		b.t.Errorf("%d effects, want %d", n, effects)
	}
}

// waitFor lets other goroutines run until a condition holds.
func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatal("the condition never held")
		}
		time.Sleep(time.Millisecond)
	}
}
