// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
)

// TestWhatACallCameBesideIsToldByTheLedgersClock: a gateway's own clock may be
// seconds off, and is compared with nothing that another machine has written.
func TestWhatACallCameBesideIsToldByTheLedgersClock(t *testing.T) {
	for name, ahead := range map[string]time.Duration{
		"slow": -10 * time.Second, "a little slow": -300 * time.Millisecond, "the same": 0, "a little fast": 300 * time.Millisecond, "fast": 10 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			b := newRig(t, func(rule *deed.Rule) { rule.Key.Need = deed.NeedOptional })
			local := storetest.NewClock(noon.Add(ahead))
			rt, err := deed.New(deed.Options{Store: b.store, Clock: local, Policy: deed.FixedPolicy{"pay/refund": b.rule}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := rt.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
			first := b.do(keyed("12", callID("session-1/toolu_1")))
			b.rt.Delivered(context.Background(), first)
			for _, clock := range []*storetest.Clock{b.clock, local} {
				clock.Advance(3 * time.Second)
			}

			beside := keyed("12", callID("session-1/toolu_2"))
			beside.ArrivedAt = local.Now().Add(-3100 * time.Millisecond)
			answer, err := rt.Do(context.Background(), beside, b.pay)
			if err != nil || answer.Reason != deed.ReasonTwinJoined || b.effects.Load() != 1 {
				t.Errorf("the call beside: %v %v, %d effects, %v", answer.Decision, answer.Reason, b.effects.Load(), err)
			}
			after := keyed("12", callID("session-1/toolu_3"))
			after.ArrivedAt = local.Now().Add(-2900 * time.Millisecond)
			answer, err = rt.Do(context.Background(), after, b.pay)
			if err != nil || answer.Decision != deed.Execute || b.effects.Load() != 2 {
				t.Errorf("the call after: %v %v, %d effects, %v", answer.Decision, answer.Reason, b.effects.Load(), err)
			}
		})
	}
}

// slowViews is a ledger whose views come late to claims.
type slowViews struct {
	deed.Store
	clocks []*storetest.Clock
	late   time.Duration
}

func (s slowViews) Transact(ctx context.Context, scope deed.Scope, change func(deed.View) (deed.Change, error)) (deed.View, error) {
	return s.Store.Transact(ctx, scope, func(view deed.View) (deed.Change, error) {
		if scope.Tool != "" {
			for _, clock := range s.clocks {
				clock.Advance(s.late)
			}
		}
		return change(view)
	})
}

// However late the views of claims are, a settlement of this process shows how the
// clocks stand: what arrives after its answer did not come beside it.
func TestWhatFollowsAnAnswerOfThisProcessDidNotComeBesideIt(t *testing.T) {
	b := newRig(t, func(rule *deed.Rule) { rule.Key.Need = deed.NeedOptional })
	local := storetest.NewClock(noon)
	store := slowViews{Store: b.store, clocks: []*storetest.Clock{b.clock, local}, late: 10 * time.Millisecond}
	rt, err := deed.New(deed.Options{Store: store, Clock: local, Policy: deed.FixedPolicy{"pay/refund": b.rule}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for n, id := range []string{"session-1/toolu_1", "session-1/toolu_2"} {
		answer, err := rt.Do(context.Background(), keyed("12", callID(id)), b.pay)
		if err != nil || answer.Decision != deed.Execute || b.effects.Load() != int64(n+1) {
			t.Fatalf("call %d: %v %v, %d effects, %v", n+1, answer.Decision, answer.Reason, b.effects.Load(), err)
		}
		rt.Delivered(context.Background(), answer)
		b.clock.Advance(time.Millisecond)
		local.Advance(time.Millisecond)
	}
}
