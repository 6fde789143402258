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
