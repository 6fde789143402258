// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// A derived key whose last action came to nothing names a new one.
func TestWhatObserveModeSendsAsANewGenerationIsNotSentAgain(t *testing.T) {
	small := `{"order_id":"1042","amount":5}`
	for name, c := range map[string]struct {
		change func(*deed.Rule)
		call   func(*deed.Call)
	}{
		"awaiting approval": {approving(func(a *deed.ApprovalRule) {
			a.When = func(arguments []byte, _ deed.Principal) bool { return string(arguments) != small }
		}), nil},
		"denied": {func(rule *deed.Rule) {
			rule.Deny = func(arguments []byte, _ deed.Principal) string {
				if string(arguments) == small {
					return ""
				}
				return "no such refunds today"
			}
		}, nil},
		"over the budget": {spending(func(s *deed.SpendRule) { s.Budget.Limit = eur(10) }), nil},
		"quarantined":     {nil, func(call *deed.Call) { call.Facts.Quarantined = true }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBesideRig(t, func(rule *deed.Rule) {
				rule.Key.From = []string{"/order_id"}
				if c.change != nil {
					c.change(rule)
				}
			})
			first := keyed("5")
			_, grant := b.claim(b.rt, first)
			b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeRefused, Final: true, Reason: deed.ReasonRefused})
			call := keyed("12")
			if c.call != nil {
				c.call(&call)
			}
			b.looksOn(call, nil)
			b.clock.Advance(time.Hour)
			b.want(b.do(keyed("12")), deed.Replay, deed.ReasonStored, 1)
		})
	}
}

// While a new configuration spreads, the processes that have the old one only
// observe.
func TestWhatObserveModeSendsUnderOldRulesIsNotSentAgain(t *testing.T) {
	b := newBesideRig(t, nil)
	if _, err := b.observer.Do(context.Background(), order(1, "1"), b.pay); err != nil {
		t.Fatal(err)
	}
	approving(func(a *deed.ApprovalRule) { a.When = func([]byte, deed.Principal) bool { return false } })(&b.rule)
	b.rt = b.process()
	b.want(b.do(order(2, "1")), deed.Execute, "", 2)
	if answer := b.looksOn(refund("12"), nil); answer.WouldBe != deed.Denied || answer.Reason != deed.ReasonPolicyOutdated {
		t.Errorf("would be %s(%s)", answer.WouldBe, answer.Reason)
	}
	b.want(b.do(refund("12")), deed.Replay, deed.ReasonStored, 3)
}

// A key of a runtime's names an action of its own, also where an equal one is in
// doubt or under way.
func TestWhatObserveModeSendsBesideATwinIsNotSentAgain(t *testing.T) {
	matter := func(rule *deed.Rule) { rule.Matter = []string{"/order_id"} }
	for name, c := range map[string]struct {
		call    deed.Call
		live    bool
		wouldBe deed.Decision
	}{
		"in doubt":                   {keyed("12", runtime("refund:order-1042:second")), false, deed.Uncertain},
		"in doubt, equal matter":     {keyed("13", runtime("refund:order-1042:second")), false, deed.Uncertain},
		"a model's, of equal matter": {keyed("13", model("refund:order-1042:second")), false, deed.Uncertain},
		"under way":                  {keyed("12", runtime("refund:order-1042:second")), true, deed.InProgress},
		"under way, equal matter":    {keyed("13", model("refund:order-1042:second")), true, deed.InProgress},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBesideRig(t, matter)
			_, grant := b.claim(b.rt, refund("12"))
			if !c.live {
				b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown})
			}
			if answer := b.looksOn(c.call, nil); answer.WouldBe != c.wouldBe {
				t.Errorf("would be %s(%s)", answer.WouldBe, answer.Reason)
			}
			b.want(b.do(c.call), deed.Replay, deed.ReasonStored, 1)
		})
	}
}

// Nobody waits for another call where calls are only observed.
func TestAnObservedCallDoesNotWait(t *testing.T) {
	b := newBesideRig(t, nil)
	_, grant := b.claim(b.rt, refund("12"))
	for name, call := range map[string]deed.Call{
		"its own record": refund("12"),
		"a model's twin": keyed("12", model("refund:order-1042:second")),
	} {
		t.Run(name, func(t *testing.T) {
			// The rig's clock stands: whoever waits does not come back.
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			answer, err := b.observer.Do(ctx, call, b.pay)
			if err != nil || answer.WouldBe != deed.InProgress {
				t.Errorf("would be %s, %v", answer.WouldBe, err)
			}
		})
	}
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown})
}

// Who may not call is told so before anybody looks for twins; the proposal that a
// model's call means has to know of it all the same.
func TestAProposalKnowsOfAnObservedCallWithoutTheRight(t *testing.T) {
	b := newBesideRig(t, approving(nil))
	op := b.propose("12")
	call := keyed("12", model("refund:order-1042:second"))
	call.Principal.Rights = []deed.Right{deed.RightRead}
	b.looksOn(call, nil)
	if got := b.history(op.ID); got != "sent: sent:success" {
		t.Errorf("the record tells %q", got)
	}
	_, err := b.rt.Approve(context.Background(), person("ada"), op.ID, consentTo(op))
	b.refusedConsent(err, deed.ConsentObserved, "was accepted")
}

// Money that never fitted is asked for again, where another attempt may follow on a
// doubt: the first may have spent nothing.
func TestWhatObserveModeSentOverTheBudgetIsSentAgainOnlyWithinIt(t *testing.T) {
	for name, change := range map[string]func(*deed.Rule){
		"idempotent": func(rule *deed.Rule) { rule.Effect = deed.EffectIdempotent },
		"under a provider key": func(rule *deed.Rule) {
			rule.ProviderKey = &deed.ProviderKeyRule{Retention: 24 * time.Hour}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBesideRig(t, func(rule *deed.Rule) {
				spending(nil)(rule)
				change(rule)
			})
			b.want(b.do(order(1, "60")), deed.Execute, "", 1)
			b.clock.Advance(time.Minute)
			b.looksOn(order(2, "50"), errLost)
			b.stands(50, 60)
			b.clock.Advance(time.Minute)
			b.want(b.do(order(2, "50")), deed.Denied, deed.ReasonBudgetExceeded, 2)
			call, err := b.rt.CallOf(context.Background(), operator, b.named(order(2, "50")).ID)
			if err != nil {
				t.Fatal(err)
			}
			b.want(b.do(call), deed.Denied, deed.ReasonBudgetExceeded, 2)
			b.stands(50, 60)
		})
	}
}

// What fits meanwhile is sent, and its money is booked once.
func TestWhatObserveModeSentOverTheBudgetIsSentAgainWhenItFits(t *testing.T) {
	b := newBesideRig(t, func(rule *deed.Rule) {
		spending(func(s *deed.SpendRule) { s.Budget.Window = time.Hour })(rule)
		rule.Effect = deed.EffectIdempotent
	})
	b.want(b.do(order(1, "60")), deed.Execute, "", 1)
	b.clock.Advance(time.Minute)
	b.looksOn(order(2, "50"), errLost)
	b.clock.Advance(59*time.Minute + 30*time.Second)
	b.want(b.do(order(2, "50")), deed.Execute, "", 3)
	b.stands(0, 50)
}

// What did not leave where it was only observed is sent for the revision that a
// person approved.
func TestWhatObserveModeCouldNotSendIsComparedWithWhatWasApproved(t *testing.T) {
	b := newBesideRig(t, approving(nil))
	revision := "1"
	call := refund("12")
	call.Revision = func(context.Context) (string, error) { return revision, nil }
	b.looksOn(call, errUnsent)
	b.clock.Advance(time.Minute)
	b.want(b.do(call), deed.AwaitingApproval, deed.ReasonPending, 0)
	b.approve(person("ada"), b.only())
	revision = "2"
	b.want(b.do(call), deed.Denied, deed.ReasonRevisionChanged, 0)
	revision = "1"
	b.want(b.do(call), deed.Execute, "", 1)
}

// named is the operation of a call's key.
func (b *besideRig) named(call deed.Call) *deed.Operation {
	b.t.Helper()
	page, err := b.rt.List(context.Background(), operator, deed.Query{Key: string(call.Carriers[0].Identity.(deed.OperationKey))})
	if err != nil || len(page.Operations) != 1 {
		b.t.Fatalf("%d operations, %v", len(page.Operations), err)
	}
	return page.Operations[0]
}
