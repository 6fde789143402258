// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// external is a verified consent to a proposal.
func external(id string, op *deed.Operation, approver deed.Actor) *deed.ExternalConsent {
	return &deed.ExternalConsent{ID: id, Digest: op.Approval.Digest, Approver: approver, ExpiresAt: noon.Add(time.Hour)}
}

func withConsent(call deed.Call, consent *deed.ExternalConsent) deed.Call {
	call.Consent = consent
	return call
}

func TestAConsentThatComesWithTheCallRunsIt(t *testing.T) {
	b := newRig(t, approving(nil))
	op := b.propose("12")
	answer := b.do(withConsent(refund("12"), external("jws-1", op, "alice")))
	b.want(answer, deed.Execute, "", 1)
	if got := answer.Operation.Approval; got.ID != "jws-1" || len(got.Votes) != 1 || got.Votes[0].ConsentID != "jws-1" || got.Votes[0].Approver != "alice" {
		t.Errorf("the approval is %+v", got)
	}
	events, err := b.rt.Events(context.Background(), person("alice"), op.ID)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, event := range events {
		names = append(names, string(event.Name))
	}
	if got := strings.Join(names, " "); !strings.Contains(got, "approved begun") {
		t.Errorf("events %s", got)
	}
	b.want(b.do(withConsent(refund("12"), external("jws-1", op, "alice"))), deed.Replay, deed.ReasonStored, 1)
}

func TestAConsentIsSpentForOneOperation(t *testing.T) {
	b := newRig(t, approving(nil))
	first := b.propose("12")
	b.want(b.do(withConsent(refund("12"), external("jws-1", first, "alice"))), deed.Execute, "", 1)

	other := keyed("13", runtime("refund:order-1043:first"))
	fresh := b.do(withConsent(other, external("jws-1", first, "alice")))
	b.want(fresh, deed.Denied, deed.ReasonApprovalInvalid, 1)
	if !strings.Contains(fresh.Text, string(first.ID)) {
		t.Errorf("it does not name the consumer: %q", fresh.Text)
	}
	second := b.do(other)
	b.want(second, deed.AwaitingApproval, deed.ReasonPending, 1)
	again := b.do(withConsent(other, external("jws-1", second.Operation, "alice")))
	b.want(again, deed.Denied, deed.ReasonApprovalInvalid, 1)
	if !strings.Contains(again.Text, string(first.ID)) {
		t.Errorf("it does not name the consumer: %q", again.Text)
	}
	consent := consentTo(second.Operation)
	consent.ID = "jws-1"
	_, err := b.rt.Approve(context.Background(), person("bob"), second.Operation.ID, consent)
	if no := b.refusedConsent(err, deed.ConsentSpent, "jws-1"); no.Consumer != first.ID {
		t.Errorf("spent for %s", no.Consumer)
	}
	b.want(b.do(withConsent(other, external("jws-2", second.Operation, "alice"))), deed.Execute, "", 2)
}

func TestWhoMayNotReadTheConsumerIsNotToldOfIt(t *testing.T) {
	b := newRig(t, approving(nil))
	first := b.propose("12")
	b.want(b.do(withConsent(refund("12"), external("jws-1", first, "alice"))), deed.Execute, "", 1)
	other := keyed("13", runtime("refund:order-1043:first"))
	other.Principal.Actor = "other-agent"
	answer := b.do(withConsent(other, external("jws-1", first, "alice")))
	b.want(answer, deed.Denied, deed.ReasonApprovalInvalid, 1)
	if strings.Contains(answer.Text, string(first.ID)) || !strings.Contains(answer.Text, "another operation") {
		t.Errorf("it says %q", answer.Text)
	}
}

func TestAConsentThatDoesNotCountIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(*deed.ExternalConsent){
		"another digest":    func(c *deed.ExternalConsent) { c.Digest = "sha256:other" },
		"expired":           func(c *deed.ExternalConsent) { c.ExpiresAt = noon },
		"without an id":     func(c *deed.ExternalConsent) { c.ID = "" },
		"the actor's own":   func(c *deed.ExternalConsent) { c.Approver = "agent" },
		"of somebody other": func(c *deed.ExternalConsent) { c.Approver = "mallory" },
	} {
		t.Run(name, func(t *testing.T) {
			b := newRig(t, approving(func(a *deed.ApprovalRule) { a.Approvers = []deed.Actor{"alice", "agent"} }))
			op := b.propose("12")
			consent := external("jws-1", op, "alice")
			spoil(consent)
			b.want(b.do(withConsent(refund("12"), consent)), deed.Denied, deed.ReasonApprovalInvalid, 0)
			b.want(b.do(withConsent(refund("12"), external("jws-1", op, "alice"))), deed.Execute, "", 1)
		})
	}
}

func TestAConsentToNothingYetOnlyMakesTheProposal(t *testing.T) {
	b := newRig(t, approving(nil))
	answer := b.do(withConsent(refund("12"), &deed.ExternalConsent{ID: "jws-1", Digest: "sha256:other", Approver: "alice"}))
	b.want(answer, deed.AwaitingApproval, deed.ReasonPending, 0)
	if !strings.Contains(answer.Text, "another proposal") {
		t.Errorf("it says %q", answer.Text)
	}
}

func TestConsentsFromElsewhereMakeAQuorumWithThoseGivenHere(t *testing.T) {
	b := newRig(t, approving(func(a *deed.ApprovalRule) { a.Quorum = 3 }))
	op := b.propose("12")
	b.approve(person("alice"), op)
	b.want(b.do(withConsent(refund("12"), external("jws-1", op, "bob"))), deed.AwaitingApproval, deed.ReasonPending, 0)
	b.want(b.do(withConsent(refund("12"), external("jws-1", op, "bob"))), deed.AwaitingApproval, deed.ReasonPending, 0)
	b.want(b.do(withConsent(refund("12"), external("jws-2", op, "carol"))), deed.Execute, "", 1)
}

func TestAConditionSeesDefaultsAndFailsClosed(t *testing.T) {
	large := func(arguments []byte, _ deed.Principal) bool { return strings.Contains(string(arguments), "critical") }
	for name, c := range map[string]struct {
		when     func([]byte, deed.Principal) bool
		defaults func([]byte) []byte
		want     deed.Decision
	}{
		"it does not hold":             {large, nil, deed.Execute},
		"it holds by a default":        {large, func([]byte) []byte { return []byte(`{"severity":"critical"}`) }, deed.AwaitingApproval},
		"it panics":                    {func([]byte, deed.Principal) bool { panic("no such field") }, nil, deed.AwaitingApproval},
		"the defaults panic":           {large, func([]byte) []byte { panic("no schema") }, deed.AwaitingApproval},
		"there is none, so all do":     {nil, nil, deed.AwaitingApproval},
		"the rule has an older form":   {nil, nil, deed.AwaitingApproval},
		"the older form fails, closed": {nil, nil, deed.AwaitingApproval},
	} {
		t.Run(name, func(t *testing.T) {
			b := newRig(t, func(rule *deed.Rule) {
				switch {
				case strings.Contains(name, "older form fails"):
					rule.NeedsApproval = func([]byte, deed.Principal) bool { panic("no such field") }
				case strings.Contains(name, "older form"):
					rule.NeedsApproval = func([]byte, deed.Principal) bool { return true }
				default:
					rule.Approval = &deed.ApprovalRule{When: c.when}
				}
			})
			call := refund("12")
			call.Defaults = c.defaults
			if answer := b.do(call); answer.Decision != c.want {
				t.Errorf("%s(%s), want %s", answer.Decision, answer.Reason, c.want)
			}
		})
	}
}

func TestChangedRulesOrDefinitionVoidAnApproval(t *testing.T) {
	for name, change := range map[string]func(*rig, *deed.Call){
		"another definition": func(_ *rig, call *deed.Call) { call.Facts.Definition = "sha256:new" },
		"other approvers": func(b *rig, _ *deed.Call) {
			b.rule.Approval, b.rule.Revision = &deed.ApprovalRule{Approvers: []deed.Actor{"bob"}}, "2"
			b.rt = b.process()
		},
		"a budget": func(b *rig, _ *deed.Call) {
			b.rule.Spend, b.rule.Revision = refunds(nil), "2"
			b.rt = b.process()
		},
	} {
		for _, approved := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				b := newRig(t, approving(nil))
				op := b.propose("12")
				if approved {
					b.approve(person("alice"), op)
				}
				call := refund("12")
				change(b, &call)
				voided := b.do(call)
				b.want(voided, deed.AwaitingApproval, deed.ReasonPending, 0)
				if voided.Operation.Approval.Digest == op.Approval.Digest || len(voided.Operation.Approval.Votes) != 0 {
					t.Errorf("the approval is still %+v", voided.Operation.Approval)
				}
				_, err := b.rt.Approve(context.Background(), person("bob"), op.ID, consentTo(op))
				b.refusedConsent(err, deed.ConsentOtherDigest, "")
				b.approve(person("bob"), voided.Operation)
				b.want(b.do(call), deed.Execute, "", 1)
			})
		}
	}
}

func TestAnyOtherEditOfThePolicyLeavesApprovalsValid(t *testing.T) {
	b := newRig(t, approving(nil))
	b.approve(person("alice"), b.propose("12"))
	b.rule.Wait, b.rule.Revision = time.Second, "2"
	b.rt = b.process()
	b.want(b.do(refund("12")), deed.Execute, "", 1)
}

func TestAnApprovalCoversRetriesAfterAProvedFailureInItsTime(t *testing.T) {
	b := newRig(t, approving(func(a *deed.ApprovalRule) { a.Expires = time.Hour }))
	b.approve(person("alice"), b.propose("12"))
	_, grant := b.claim(b.rt, refund("12"))
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnsent})
	b.clock.Advance(time.Minute)
	_, grant = b.claim(b.rt, refund("12"))
	if grant == nil {
		t.Fatal("the approval does not cover the retry")
	}
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnsent})
	b.clock.Advance(time.Hour)
	b.want(b.do(refund("12")), deed.AwaitingApproval, deed.ReasonPending, 0)
}

func TestAQuestionIsNotAnsweredAfterTheApprovalHasEnded(t *testing.T) {
	b := newRig(t, approving(func(a *deed.ApprovalRule) { a.Expires = 10 * time.Minute }))
	b.approve(person("alice"), b.propose("12"))
	_, grant := b.claim(b.rt, refund("12"))
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeInputRequired, RequestState: []byte("state")})
	b.clock.Advance(10 * time.Minute)
	call := refund("12")
	call.Continuation = &deed.Continuation{State: []byte("state"), Inputs: []byte(`{}`)}
	b.want(b.do(call), deed.Denied, deed.ReasonApprovalInvalid, 0)
}

func TestAnIdempotentToolRunsAgainOnlyInsideItsApprovalAndOnItsMoney(t *testing.T) {
	b := newRig(t, func(rule *deed.Rule) {
		rule.Effect, rule.Approval, rule.Spend = deed.EffectIdempotent, &deed.ApprovalRule{Expires: 10 * time.Minute}, refunds(nil)
	})
	b.approve(person("alice"), b.propose("60"))
	_, grant := b.claim(b.rt, refund("60"))
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown})
	b.stands(60, 0)
	_, again := b.claim(b.rt, refund("60"))
	if again == nil {
		t.Fatal("it may run again")
	}
	b.stands(60, 0)
	b.settle(b.rt, again, deed.Outcome{Kind: deed.OutcomeUnknown})
	b.clock.Advance(10 * time.Minute)
	b.want(b.do(refund("60")), deed.Uncertain, deed.ReasonOutcomeUnknown, 0)
	b.stands(60, 0)
}

func TestACrashBetweenApprovalAndDispatchLosesNothing(t *testing.T) {
	b := newRig(t, approving(nil))
	b.approve(person("alice"), b.propose("12"))
	// Approved and not begun: another process, the same call.
	b.rt = b.process()
	_, grant := b.claim(b.rt, refund("12"))
	if grant == nil {
		t.Fatal("the approval was lost")
	}
	// Begun and not reported: nobody may begin again.
	b.clock.Advance(time.Hour)
	b.rt = b.process()
	b.want(b.do(refund("12")), deed.Uncertain, deed.ReasonOutcomeUnknown, 0)
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: "re_1"}})
	b.want(b.do(refund("12")), deed.Replay, deed.ReasonResultDiscarded, 0)
}
