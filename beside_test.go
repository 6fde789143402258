// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// besideRig has two processes on one ledger: one enforces, one only observes.
type besideRig struct {
	*rig
	observer *deed.Runtime
}

func newBesideRig(t *testing.T, change func(*deed.Rule)) *besideRig {
	b := &besideRig{rig: newRig(t, change)}
	enforced := b.rule
	b.rule.Mode = deed.ModeObserve
	b.observer = b.process()
	b.rule = enforced
	return b
}

// looksOn makes a call where calls are only observed, which ends in err.
func (b *besideRig) looksOn(call deed.Call, err error) deed.Answer {
	b.t.Helper()
	answer, fault := b.observer.Do(context.Background(), call, func(ctx context.Context, a deed.Attempt) (deed.Receipt, error) {
		receipt, _ := b.pay(ctx, a)
		if errors.Is(err, errUnsent) {
			b.effects.Add(-1)
		}
		return receipt, err
	})
	if fault != nil {
		b.t.Fatal(fault)
	}
	if answer.WouldBe == "" {
		b.t.Errorf("it was recorded as %s", answer.Effective)
	}
	return answer
}

var (
	errLost   = errors.New("connection reset")
	errUnsent = deed.NotSent(errors.New("no route to host"))
)

// waiting makes an operation that may still run.
func (b *besideRig) waiting(status deed.Status) *deed.Operation {
	b.t.Helper()
	switch status {
	case deed.StatusAwaitingApproval:
		return b.propose("12")
	case deed.StatusAuthorized:
		return b.approve(person("ada"), b.propose("12"))
	case deed.StatusUncertain:
		b.doing(refund("12"), func(context.Context, deed.Attempt) (deed.Receipt, error) { return deed.Receipt{}, errLost })
	case deed.StatusFailed:
		_, grant := b.claim(b.rt, refund("12"))
		b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnsent, Reason: deed.ReasonNotSent, RetryAfter: time.Minute})
	}
	return b.only()
}

func (b *besideRig) only() *deed.Operation {
	b.t.Helper()
	page, err := b.rt.List(context.Background(), operator, deed.Query{})
	if err != nil || len(page.Operations) != 1 {
		b.t.Fatalf("%d operations, %v", len(page.Operations), err)
	}
	return page.Operations[0]
}

// history is what the record tells of calls that ran beside it.
func (b *besideRig) history(id deed.OperationID) string {
	b.t.Helper()
	events, err := b.rt.Events(context.Background(), operator, id)
	if err != nil {
		b.t.Fatal(err)
	}
	var told []string
	for _, e := range events {
		var data struct {
			Outcome  string
			OtherKey bool          `json:"other_key"`
			WouldBe  deed.Decision `json:"would_be"`
		}
		if len(e.Data) > 0 {
			if err := json.Unmarshal(e.Data, &data); err != nil {
				b.t.Fatal(err)
			}
		}
		switch {
		case e.Name == deed.EventObserved && data.OtherKey:
			told = append(told, "other:"+data.Outcome)
		case e.Name == deed.EventObserved:
			told = append(told, "sent:"+data.Outcome)
		case data.WouldBe != "":
			told = append(told, "would_be:"+string(data.WouldBe))
		}
	}
	return strings.Join(told, " ")
}

// held is a call about the record that a later process must not send.
func (b *besideRig) held(rt *deed.Runtime, id deed.OperationID, effects int64) {
	b.t.Helper()
	call, err := rt.CallOf(context.Background(), operator, id)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, call := range []deed.Call{refund("12"), call} {
		answer, err := rt.Do(context.Background(), call, b.pay)
		if err != nil {
			b.t.Fatal(err)
		}
		b.want(answer, deed.Uncertain, deed.ReasonTwinUnresolved, effects)
		if !strings.Contains(answer.Text, "in observe mode at 2") || !strings.Contains(answer.Text, "cancel it") {
			b.t.Errorf("it is told %q", answer.Text)
		}
	}
}

func TestWhatObserveModeSendsIsKnownToTheProposalThatWaits(t *testing.T) {
	for _, c := range []struct {
		name    string
		outcome error
		says    string
		history string
	}{
		{"accepted", nil, `was accepted (remote id "re_1")`, "would_be:awaiting_approval sent: sent:success"},
		{"lost", errLost, "what came of it is not known", "would_be:awaiting_approval sent: sent:unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBesideRig(t, approving(nil))
			op := b.waiting(deed.StatusAwaitingApproval)
			b.looksOn(refund("12"), c.outcome)
			if got := b.history(op.ID); got != c.history {
				t.Errorf("the record tells %q, want %q", got, c.history)
			}
			// Also where another process decides.
			elsewhere := b.process()
			_, err := elsewhere.Approve(context.Background(), person("ada"), op.ID, deed.Consent{Digest: op.Approval.Digest})
			b.refusedConsent(err, deed.ConsentObserved, c.says)
			if !strings.Contains(err.Error(), "cancel it") {
				t.Errorf("no remedy in %q", err)
			}
			_, err = elsewhere.EditAndApprove(context.Background(), person("ada"), op.ID, op.Approval.Digest, []byte(`{"order_id":"1042","amount":13}`), "")
			b.refusedConsent(err, deed.ConsentObserved, c.says)
			b.want(b.do(refund("12")), deed.AwaitingApproval, deed.ReasonPending, 1)

			if _, err := elsewhere.Cancel(context.Background(), operator, op.ID, "sent already"); err != nil {
				t.Fatal(err)
			}
			b.want(b.do(refund("12")), deed.Denied, deed.ReasonCancelled, 1)
		})
	}
}

// A key that named nothing names what observe mode sent under it, whatever would
// have kept it from being sent.
func TestWhatObserveModeSendsUnderANewKeyIsNotSentAgain(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*deed.Rule)
		call    func(*deed.Call)
		wouldBe deed.Decision
		reason  deed.Reason
	}{
		"awaiting approval": {approving(nil), nil, deed.AwaitingApproval, deed.ReasonPending},
		"denied": {func(rule *deed.Rule) {
			rule.Deny = func([]byte, deed.Principal) string { return "no refunds today" }
		}, nil, deed.Denied, deed.ReasonForbidden},
		"over the budget": {spending(func(s *deed.SpendRule) { s.Budget.Limit = eur(10) }), nil, deed.Denied, deed.ReasonBudgetExceeded},
		"quarantined":     {nil, func(call *deed.Call) { call.Facts.Quarantined = true }, deed.Denied, deed.ReasonQuarantined},
	} {
		t.Run(name, func(t *testing.T) {
			for _, outcome := range []error{nil, errLost} {
				b := newBesideRig(t, c.change)
				call := refund("12")
				if c.call != nil {
					c.call(&call)
				}
				answer := b.looksOn(call, outcome)
				if answer.WouldBe != c.wouldBe || outcome == nil && answer.Reason != c.reason {
					t.Errorf("would be %s(%s), want %s(%s)", answer.WouldBe, answer.Reason, c.wouldBe, c.reason)
				}
				if got, want := b.history(b.only().ID), "would_be:"+string(c.wouldBe); got != want {
					t.Errorf("the record tells %q, want %q", got, want)
				}
				b.clock.Advance(time.Hour)
				if outcome == nil {
					b.want(b.do(call), deed.Replay, deed.ReasonStored, 1)
				} else {
					b.want(b.do(call), deed.Uncertain, deed.ReasonOutcomeUnknown, 1)
				}
			}
		})
	}
}

// What did not leave is proposed by the repeat, and runs once when approved.
func TestWhatObserveModeCouldNotSendIsProposedByItsRepeat(t *testing.T) {
	b := newBesideRig(t, approving(nil))
	b.looksOn(refund("12"), errUnsent)
	b.clock.Advance(time.Minute)
	b.want(b.do(refund("12")), deed.AwaitingApproval, deed.ReasonPending, 0)
	b.approve(person("ada"), b.only())
	b.want(b.do(refund("12")), deed.Execute, "", 1)
}

// What is known not to have had the effect holds nothing up.
func TestAProposalMayRunAfterAnObservedCallThatDidNotLeave(t *testing.T) {
	b := newBesideRig(t, approving(nil))
	op := b.waiting(deed.StatusAwaitingApproval)
	b.looksOn(refund("12"), errUnsent)
	if got := b.history(op.ID); got != "would_be:awaiting_approval sent: sent:unsent" {
		t.Errorf("the record tells %q", got)
	}
	b.approve(person("ada"), b.only())
	b.want(b.do(refund("12")), deed.Execute, "", 1)
}

// A call that is under way may have the effect at any moment, and one of a process
// that died may have had it.
func TestAProposalIsHeldWhileAnObservedCallIsUnderWay(t *testing.T) {
	b := newBesideRig(t, approving(nil))
	op := b.waiting(deed.StatusAwaitingApproval)
	_, grant := b.claim(b.observer, refund("12"))
	approve := func() error {
		_, err := b.rt.Approve(context.Background(), person("ada"), op.ID, deed.Consent{Digest: op.Approval.Digest})
		return err
	}
	b.refusedConsent(approve(), deed.ConsentObserved, "what came of it is not known")
	if _, err := b.rt.Deny(context.Background(), person("ada"), op.ID, deed.Consent{Digest: "sha256:other"}); err == nil {
		t.Error("a denial of another digest was taken")
	}
	b.settle(b.observer, grant, deed.Outcome{Kind: deed.OutcomeUnknown, Reason: deed.ReasonOutcomeUnknown})
	b.refusedConsent(approve(), deed.ConsentObserved, "what came of it is not known")
	// A late answer is definite.
	b.settle(b.observer, grant, deed.Outcome{Kind: deed.OutcomeRefused, Reason: deed.ReasonRefused, Final: true})
	if err := approve(); err != nil {
		t.Error(err)
	}
}

func TestWhatWasApprovedIsHeldAfterAnObservedCall(t *testing.T) {
	b := newBesideRig(t, approving(nil))
	op := b.waiting(deed.StatusAuthorized)
	call := refund("12")
	call.Facts.Quarantined = true // what is authorized and may begin is begun, and recorded
	b.looksOn(call, nil)
	b.held(b.rt, op.ID, 1)
	b.held(b.process(), op.ID, 1)
	if _, err := b.rt.Deny(context.Background(), person("ada"), op.ID, deed.Consent{Digest: op.Approval.Digest, Reason: "sent already"}); err != nil {
		t.Error(err)
	}
}

func TestARetryableFailureIsHeldAfterAnObservedCall(t *testing.T) {
	b := newBesideRig(t, nil)
	op := b.waiting(deed.StatusFailed)
	b.looksOn(refund("12"), nil) // before retry_after
	b.clock.Advance(time.Minute)
	b.held(b.rt, op.ID, 1)
	op, err := b.rt.Resolve(context.Background(), operator, op.ID, deed.Resolution{Outcome: deed.ResolveCommitted, RemoteIDs: []string{"re_1"}, Reason: "seen"})
	if err != nil || op.Status != deed.StatusCommitted {
		t.Errorf("%v, %v", op, err)
	}
	b.want(b.do(refund("12")), deed.Replay, deed.ReasonResultDiscarded, 1)
}

func TestADoubtIsNotResolvedAsNotAppliedOverAnObservedCall(t *testing.T) {
	b := newBesideRig(t, nil)
	op := b.waiting(deed.StatusUncertain)
	b.looksOn(refund("12"), nil)
	b.clock.Advance(time.Hour)
	not := deed.Resolution{Outcome: deed.ResolveNotApplied, Reason: "not there"}
	_, err := b.rt.Resolve(context.Background(), operator, op.ID, not)
	var refused *deed.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "was accepted") || !strings.Contains(err.Error(), "force it") {
		t.Fatalf("it was resolved: %v", err)
	}
	list, err := b.rt.ResolveMany(context.Background(), operator, deed.Query{}, not, true)
	if err != nil || len(list) != 1 || !errors.As(list[0].Err, &refused) {
		t.Errorf("a trial says %v, %v", list, err)
	}
	b.want(b.do(refund("12")), deed.Uncertain, deed.ReasonOutcomeUnknown, 1)

	// Whoever knows of both may permit another.
	not.Force = true
	if _, err := b.rt.Resolve(context.Background(), operator, op.ID, not); err != nil {
		t.Fatal(err)
	}
	b.want(b.do(refund("12")), deed.Execute, "", 2)
}

// The call came while an attempt was running, and that did not leave.
func TestARunningOperationKnowsOfAnObservedCall(t *testing.T) {
	b := newBesideRig(t, nil)
	_, grant := b.claim(b.rt, refund("12"))
	call := refund("12")
	call.ArrivedAt = noon.Add(-time.Hour) // it has waited for long enough
	b.looksOn(call, errLost)
	b.settle(b.rt, grant, deed.Outcome{Kind: deed.OutcomeUnsent, Reason: deed.ReasonNotSent})
	b.clock.Advance(time.Minute)
	b.held(b.rt, grant.Operation, 1)
}

// Calls that a model repeats under another key, or under none, are calls of the
// twin; those of a runtime are actions of their own, of which the record tells.
func TestTwinsKnowOfObservedCalls(t *testing.T) {
	other := refund("12")
	other.Key = deed.OperationKey("refund:order-1042:second")
	renamed := refund("12")
	renamed.Key, renamed.Carriers = nil, []deed.Carrier{{Provenance: deed.ProvenanceModel, Identity: other.Key, Name: "idempotency_key"}}
	for _, c := range []struct {
		name    string
		call    deed.Call
		status  deed.Status
		change  func(*deed.Rule)
		history string
		held    bool
	}{
		{"a model's, of a proposal", renamed, deed.StatusAwaitingApproval, approving(nil), "would_be:awaiting_approval sent: sent:success", true},
		{"a model's, of a doubt", renamed, deed.StatusUncertain, nil, "would_be:uncertain sent: sent:success", true},
		{"a runtime's, of a proposal", other, deed.StatusAwaitingApproval, approving(nil), "", false}, // it has a record of its own
		{"a runtime's, of a doubt", other, deed.StatusUncertain, nil, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBesideRig(t, c.change)
			op := b.waiting(c.status)
			b.looksOn(c.call, nil)
			if got := b.history(op.ID); got != c.history {
				t.Errorf("the record tells %q, want %q", got, c.history)
			}
			b.clock.Advance(time.Hour)
			var err error
			if c.status == deed.StatusAwaitingApproval {
				_, err = b.rt.Approve(context.Background(), person("ada"), op.ID, deed.Consent{Digest: op.Approval.Digest})
			} else {
				_, err = b.rt.Resolve(context.Background(), operator, op.ID, deed.Resolution{Outcome: deed.ResolveNotApplied, Reason: "not there"})
			}
			if (err != nil) != c.held {
				t.Errorf("deciding: %v", err)
			}
		})
	}
}

// A model's call is one of every record that is equal to it, and so is one that
// names no action at all, which is refused where calls are enforced.
func TestEveryEqualRecordKnowsOfAnObservedCallThatNamesNone(t *testing.T) {
	for name, carriers := range map[string][]deed.Carrier{
		"a model's":             {model("refund:order-1042:third")},
		"without a key":         nil,
		"under an unusable key": {runtime("")},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBesideRig(t, approving(nil))
			second := refund("12")
			second.Key = deed.OperationKey("refund:order-1042:second")
			waiting := []*deed.Operation{b.propose("12"), b.do(second).Operation}
			call := refund("12")
			call.Key, call.Carriers = nil, carriers
			b.looksOn(call, nil)
			for _, op := range waiting {
				if !strings.Contains(b.history(op.ID), "sent: sent:success") {
					t.Errorf("the record tells %q", b.history(op.ID))
				}
				_, err := b.rt.Approve(context.Background(), person("ada"), op.ID, deed.Consent{Digest: op.Approval.Digest})
				b.refusedConsent(err, deed.ConsentObserved, "was accepted")
			}
		})
	}
}

// What reaches one end state however often it runs needs no care.
func TestAnIdempotentToolIsNotHeldAfterAnObservedCall(t *testing.T) {
	b := newBesideRig(t, func(rule *deed.Rule) { rule.Effect = deed.EffectIdempotent })
	b.waiting(deed.StatusFailed)
	b.looksOn(refund("12"), nil)
	b.clock.Advance(time.Minute)
	b.want(b.do(refund("12")), deed.Execute, "", 2)
}
