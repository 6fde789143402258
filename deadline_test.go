// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

func until(call deed.Call, at time.Time) deed.Call {
	call.ExpiresAt = at
	return call
}

func TestAFirstCallAfterItsOwnDeadlineSendsNothing(t *testing.T) {
	for name, change := range map[string]func(*deed.Rule){
		"a tool that runs at once":    nil,
		"a tool that needs a consent": func(rule *deed.Rule) { rule.Approval = &deed.ApprovalRule{} },
	} {
		t.Run(name, func(t *testing.T) {
			b := newRig(t, change)
			for _, late := range []time.Duration{0, time.Second, time.Hour} {
				answer := b.do(until(refund("12"), noon.Add(-late)))
				b.want(answer, deed.Expired, deed.ReasonNeverRan, 0)
				if answer.Operation != nil || answer.Text == "" {
					t.Errorf("%v, %q", answer.Operation, answer.Text)
				}
			}
			page, err := b.rt.List(context.Background(), agent, deed.Query{})
			if err != nil || len(page.Operations) != 0 {
				t.Errorf("%d operations, %v", len(page.Operations), err)
			}
			if change == nil {
				b.want(b.do(until(refund("12"), noon.Add(time.Second))), deed.Execute, "", 1)
			}
		})
	}
}

func TestARepeatAfterItsOwnDeadlineIsToldHowThingsStand(t *testing.T) {
	past := noon.Add(-time.Second)
	lost := func(err error) func(*rig) {
		return func(b *rig) {
			b.doing(refund("12"), func(context.Context, deed.Attempt) (deed.Receipt, error) { return deed.Receipt{}, err })
			b.clock.Advance(time.Minute)
		}
	}
	for _, c := range []struct {
		name     string
		rule     func(*deed.Rule)
		before   func(*rig)
		decision deed.Decision
		reason   deed.Reason
		effects  int64
	}{
		{"committed", nil, func(b *rig) { b.do(refund("12")) }, deed.Replay, deed.ReasonStored, 1},
		{"failed, and might be retried", nil, lost(deed.NotSent(errors.New("connection refused"))), deed.Failed, deed.ReasonNotSent, 0},
		{"uncertain, and might run again", func(r *deed.Rule) { r.Effect = deed.EffectIdempotent }, lost(errors.New("timeout")), deed.Uncertain, deed.ReasonOutcomeUnknown, 0},
		{"waiting for a person", func(r *deed.Rule) { r.Approval = &deed.ApprovalRule{} }, func(b *rig) { b.do(refund("12")) }, deed.AwaitingApproval, deed.ReasonPending, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newRig(t, c.rule)
			c.before(b)
			b.want(b.do(until(refund("12"), past)), c.decision, c.reason, c.effects)
		})
	}
}

func TestNoAttemptMayBeSentAfterTheCallersDeadline(t *testing.T) {
	for _, c := range []struct {
		name   string
		until  time.Time
		sendBy time.Duration
	}{
		{"no deadline", time.Time{}, 30 * time.Second},
		{"one before the lease ends", noon.Add(2 * time.Second), 2 * time.Second},
		{"one after it", noon.Add(time.Hour), 30 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newRig(t, nil)
			_, grant := b.claim(b.rt, until(refund("12"), c.until))
			if want := noon.Add(c.sendBy); !grant.SendBy.Equal(want) || grant.TimeToSend() != c.sendBy {
				t.Errorf("send by %s, in %s", grant.SendBy, grant.TimeToSend())
			}
			if err := grant.MaySend(); err != nil {
				t.Error(err)
			}
			b.clock.Advance(c.sendBy)
			if err := grant.MaySend(); !errors.Is(err, deed.ErrTooLate) {
				t.Errorf("at its end: %v", err)
			}
			b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnsent})
		})
	}
}

// The first call's deadline holds for retries that name none.
func TestARetryKeepsTheDeadlineOfTheFirstCall(t *testing.T) {
	b := newRig(t, nil)
	_, grant := b.claim(b.rt, until(refund("12"), noon.Add(20*time.Second)))
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnsent})
	b.clock.Advance(10 * time.Second)
	_, grant = b.claim(b.rt, refund("12"))
	if grant == nil || grant.Attempt != 2 || !grant.SendBy.Equal(noon.Add(20*time.Second)) {
		t.Fatalf("%+v", grant)
	}
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnsent})
}
