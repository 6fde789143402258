// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
)

// person may look and approve.
func person(name deed.Actor) deed.Principal {
	return deed.Principal{Tenant: "acme", Actor: name, Rights: []deed.Right{deed.RightRead, deed.RightApprove}}
}

// approving makes every call wait for a person, who is asked as change says.
func approving(change func(*deed.ApprovalRule)) func(*deed.Rule) {
	return func(rule *deed.Rule) {
		rule.Approval = &deed.ApprovalRule{}
		if change != nil {
			change(rule.Approval)
		}
	}
}

// propose asks for a refund and returns the operation that waits.
func (b *rig) propose(amount string) *deed.Operation {
	b.t.Helper()
	answer := b.do(refund(amount))
	b.want(answer, deed.AwaitingApproval, deed.ReasonPending, b.effects.Load())
	return answer.Operation
}

func consentTo(op *deed.Operation) deed.Consent {
	return deed.Consent{Digest: op.Approval.Digest, Reason: "checked the invoice"}
}

func (b *rig) approve(who deed.Principal, op *deed.Operation) *deed.Operation {
	b.t.Helper()
	next, err := b.rt.Approve(context.Background(), who, op.ID, consentTo(op))
	if err != nil {
		b.t.Fatal(err)
	}
	return next
}

// refusedConsent checks what is wrong with a consent.
func (b *rig) refusedConsent(err error, problem deed.ConsentProblem, says string) *deed.ConsentError {
	b.t.Helper()
	var no *deed.ConsentError
	if !errors.As(err, &no) || no.Problem != problem || !strings.Contains(err.Error(), says) {
		b.t.Fatalf("err = %v, want %s saying %q", err, problem, says)
	}
	return no
}

func TestAProposalSaysWhoAskedForWhatUntilWhen(t *testing.T) {
	b := newRig(t, approving(func(a *deed.ApprovalRule) {
		a.Approvers, a.Quorum, a.Expires, a.OnCall = []deed.Actor{"alice", "bob"}, 2, time.Hour, true
	}))
	want := &deed.Approval{
		ExpiresAt: noon.Add(time.Hour), AskedAt: noon, AskedBy: "agent", AskAgain: 300, Run: deed.RunOnCall, Quorum: 2,
		MayApprove: []deed.Actor{"alice", "bob"},
	}
	got := b.propose("12").Approval
	if got.Digest == "" {
		t.Error("it has no digest")
	}
	got.Digest = ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("approval (-want +got):\n%s", diff)
	}
}

// The same wish has one digest wherever it is made; whatever a person relies on
// makes another.
func TestTheDigestIsOfEverythingThatIsApproved(t *testing.T) {
	digest := func(change func(*deed.Call, *deed.Rule)) deed.Digest {
		t.Helper()
		call, rule := refund("12"), deed.DefaultRule("pay/refund")
		call.Facts = deed.ToolFacts{Definition: "sha256:d", UpstreamIdentity: "live"}
		rule.Approval, rule.Fingerprint.Exclude = &deed.ApprovalRule{Expires: time.Hour}, []string{"/note"}
		change(&call, &rule)
		b := newRig(t, nil)
		rt, err := deed.New(deed.Options{Store: b.store, Clock: b.clock, Policy: deed.FixedPolicy{call.Tool: rule}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := rt.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		answer, _, err := rt.Claim(context.Background(), call)
		if err != nil {
			t.Fatal(err)
		}
		b.want(answer, deed.AwaitingApproval, deed.ReasonPending, 0)
		return answer.Operation.Approval.Digest
	}
	wish := digest(func(*deed.Call, *deed.Rule) {})
	if again := digest(func(*deed.Call, *deed.Rule) {}); again != wish {
		t.Errorf("the same wish has the digests %s and %s", wish, again)
	}
	for name, change := range map[string]func(*deed.Call, *deed.Rule){
		"an argument": func(c *deed.Call, _ *deed.Rule) { c.Arguments = []byte(`{"order_id":"1042","amount":13}`) },
		"an argument that the fingerprint leaves out": func(c *deed.Call, _ *deed.Rule) {
			c.Arguments = []byte(`{"order_id":"1042","amount":12,"note":"now"}`)
		},
		"another spelling of the same bytes": func(c *deed.Call, _ *deed.Rule) { c.Arguments = []byte(`{"order_id":"1042","amount":12.0}`) },
		"the tool":                           func(c *deed.Call, r *deed.Rule) { c.Tool, r.Tool = "pay/payout", "pay/payout" },
		"the tool's definition":              func(c *deed.Call, _ *deed.Rule) { c.Facts.Definition = "sha256:e" },
		"where it goes":                      func(c *deed.Call, _ *deed.Rule) { c.Facts.UpstreamIdentity = "test" },
		"the rules of the tool":              func(_ *deed.Call, r *deed.Rule) { r.Approval.Quorum = 2 },
		"the actor":                          func(c *deed.Call, _ *deed.Rule) { c.Principal.Actor = "another" },
		"the tenant":                         func(c *deed.Call, _ *deed.Rule) { c.Principal.Tenant = "globex" },
		"the key":                            func(c *deed.Call, _ *deed.Rule) { c.Key = deed.OperationKey("refund:order-1042:second") },
		"the end of its time":                func(_ *deed.Call, r *deed.Rule) { r.Approval.Expires = 2 * time.Hour },
	} {
		if digest(change) == wish {
			t.Errorf("%s is not in the digest", name)
		}
	}
}

func TestAnApprovedCallRunsOnceAsItWasFrozen(t *testing.T) {
	b := newRig(t, approving(nil))
	op := b.propose("12")
	approved := b.approve(person("alice"), op)
	if approved.Status != deed.StatusAuthorized || !approved.AuthorizedAt.Equal(noon) {
		t.Errorf("it is %s", approved.Status)
	}
	want := []deed.Vote{{Approver: "alice", At: noon, Reason: "checked the invoice"}}
	if diff := cmp.Diff(want, approved.Approval.Votes); diff != "" {
		t.Errorf("votes (-want +got):\n%s", diff)
	}
	b.clock.Advance(time.Minute)
	ran := b.do(refund("12"))
	b.want(ran, deed.Execute, "", 1)
	if !ran.Operation.Approval.SpentAt.Equal(noon.Add(time.Minute)) {
		t.Errorf("spent at %s", ran.Operation.Approval.SpentAt)
	}
	b.want(b.do(refund("12")), deed.Replay, deed.ReasonStored, 1)
}

func TestADigestThatWasCutIsNotSaidToHaveChanged(t *testing.T) {
	b := newRig(t, approving(nil))
	op := b.propose("12")
	whole := op.Approval.Digest
	for digest, want := range map[deed.Digest]string{
		whole[:15]:              fmt.Sprintf("write the whole digest, %s: that of the decision was cut, %q is how it begins; the proposal has not changed, and nothing was changed", whole, whole[:15]),
		whole[:15] + "-changed": "the proposal is now " + string(whole),
		"sha256:":               "the proposal is now " + string(whole),
		"":                      "the proposal is now " + string(whole),
	} {
		_, err := b.rt.Approve(context.Background(), person("alice"), op.ID, deed.Consent{Digest: digest})
		b.refusedConsent(err, deed.ConsentOtherDigest, string(whole))
		if !strings.Contains(err.Error(), want) {
			t.Errorf("of %q it says %v, want %s", digest, err, want)
		}
	}
}

func TestOnlyTheCurrentDigestIsDecided(t *testing.T) {
	b := newRig(t, approving(nil))
	op := b.propose("12")
	for verb, decide := range map[string]func(context.Context, deed.Principal, deed.OperationID, deed.Consent) (*deed.Operation, error){
		"approve": b.rt.Approve, "deny": b.rt.Deny,
	} {
		_, err := decide(context.Background(), person("alice"), op.ID, deed.Consent{Digest: "sha256:other"})
		no := b.refusedConsent(err, deed.ConsentOtherDigest, string(op.Approval.Digest))
		if no.Current != op.Approval.Digest {
			t.Errorf("%s: current is %q", verb, no.Current)
		}
		if !errors.As(err, new(*deed.RefusedError)) {
			t.Errorf("%s: %v is no refused transition", verb, err)
		}
	}
	b.want(b.do(refund("12")), deed.AwaitingApproval, deed.ReasonPending, 0)
}

func TestWhoMayNotApproveDoesNot(t *testing.T) {
	b := newRig(t, approving(func(a *deed.ApprovalRule) { a.Approvers = []deed.Actor{"alice", "agent"} }))
	op := b.propose("12")
	reader := deed.Principal{Tenant: "acme", Actor: "alice", Rights: []deed.Right{deed.RightRead, deed.RightResolve, deed.RightAdmin}}
	if _, err := b.rt.Approve(context.Background(), reader, op.ID, consentTo(op)); !errors.Is(err, deed.ErrForbidden) {
		t.Errorf("without the right: %v", err)
	}
	blind := deed.Principal{Tenant: "acme", Actor: "alice", Rights: []deed.Right{deed.RightApprove}}
	if _, err := b.rt.Approve(context.Background(), blind, op.ID, consentTo(op)); !errors.Is(err, deed.ErrNotFound) {
		t.Errorf("who may not see it: %v", err)
	}
	elsewhere := person("alice")
	elsewhere.Tenant = "umbrella"
	if _, err := b.rt.Approve(context.Background(), elsewhere, op.ID, consentTo(op)); !errors.Is(err, deed.ErrNotFound) {
		t.Errorf("another tenant: %v", err)
	}
	_, err := b.rt.Approve(context.Background(), person("mallory"), op.ID, consentTo(op))
	b.refusedConsent(err, deed.ConsentNotApprover, "mallory is not among")
	if _, err := b.rt.Deny(context.Background(), person("mallory"), op.ID, consentTo(op)); !errors.Is(err, deed.ErrForbidden) {
		t.Errorf("denying without being listed: %v", err)
	}
	_, err = b.rt.Approve(context.Background(), person("agent"), op.ID, consentTo(op))
	b.refusedConsent(err, deed.ConsentOwn, "nobody approves their own")
	b.approve(person("alice"), op)
}

func TestSelfPermitsTheActorOfTheOperation(t *testing.T) {
	b := newRig(t, approving(func(a *deed.ApprovalRule) { a.Self = true }))
	b.approve(person("agent"), b.propose("12"))
	b.want(b.do(refund("12")), deed.Execute, "", 1)
}

func TestAQuorumNeedsThatManyPeople(t *testing.T) {
	b := newRig(t, approving(func(a *deed.ApprovalRule) { a.Quorum = 2 }))
	op := b.propose("12")
	one := b.approve(person("alice"), op)
	if one.Status != deed.StatusAwaitingApproval || one.Version != op.Version+1 {
		t.Errorf("after one of two it is %s, version %d", one.Status, one.Version)
	}
	_, err := b.rt.Approve(context.Background(), person("alice"), op.ID, consentTo(op))
	no := b.refusedConsent(err, deed.ConsentRepeated, "1 of 2")
	if diff := cmp.Diff([]string{"alice"}, no.By); diff != "" {
		t.Errorf("consented so far (-want +got):\n%s", diff)
	}
	b.want(b.do(refund("12")), deed.AwaitingApproval, deed.ReasonPending, 0)
	two := b.approve(person("bob"), op)
	if two.Status != deed.StatusAuthorized {
		t.Errorf("after two of two it is %s", two.Status)
	}
	if diff := cmp.Diff([]string{"alice", "bob"}, two.Approval.Approvers); diff != "" {
		t.Errorf("approvers (-want +got):\n%s", diff)
	}
	b.want(b.do(refund("12")), deed.Execute, "", 1)
}

func TestANoIsFinalAlsoBesideAYes(t *testing.T) {
	b := newRig(t, approving(func(a *deed.ApprovalRule) { a.Quorum = 2 }))
	op := b.propose("12")
	b.approve(person("alice"), op)
	denied, err := b.rt.Deny(context.Background(), person("bob"), op.ID, deed.Consent{Digest: op.Approval.Digest, Reason: "wrong customer"})
	if err != nil {
		t.Fatal(err)
	}
	if denied.Status != deed.StatusDenied || denied.Reason != deed.ReasonByPerson || denied.DecidedBy != "bob" || denied.Message != "wrong customer" {
		t.Errorf("denied is %s(%s) by %q: %q", denied.Status, denied.Reason, denied.DecidedBy, denied.Message)
	}
	answer := b.do(refund("12"))
	b.want(answer, deed.Denied, deed.ReasonByPerson, 0)
	if answer.Text != "wrong customer" {
		t.Errorf("the caller is told %q", answer.Text)
	}
	b.want(b.do(keyed("12", model("refund-1042-again-please"))), deed.Denied, deed.ReasonTwinDenied, 0)
	_, err = b.rt.Approve(context.Background(), person("carol"), op.ID, consentTo(op))
	no := b.refusedConsent(err, deed.ConsentDecided, "denied by bob")
	if diff := cmp.Diff([]string{"bob"}, no.By); diff != "" {
		t.Errorf("decided by (-want +got):\n%s", diff)
	}
}

func TestAnApprovalCanBeWithdrawnBeforeItIsUsed(t *testing.T) {
	b := newRig(t, approving(nil))
	op := b.propose("12")
	b.approve(person("alice"), op)
	if _, err := b.rt.Deny(context.Background(), person("bob"), op.ID, consentTo(op)); err != nil {
		t.Fatal(err)
	}
	b.want(b.do(refund("12")), deed.Denied, deed.ReasonByPerson, 0)
}

func TestWhoComesSecondIsToldWhoDecidedAndWhatBecameOfIt(t *testing.T) {
	b := newRig(t, approving(nil))
	op := b.propose("12")
	b.approve(person("alice"), op)
	_, err := b.rt.Approve(context.Background(), person("bob"), op.ID, consentTo(op))
	no := b.refusedConsent(err, deed.ConsentDecided, "approved by alice")
	if diff := cmp.Diff([]string{"alice"}, no.By); diff != "" || !no.At.Equal(noon) {
		t.Errorf("decided at %s by (-want +got):\n%s", no.At, diff)
	}
	b.do(refund("12"))
	for _, decide := range []func(context.Context, deed.Principal, deed.OperationID, deed.Consent) (*deed.Operation, error){b.rt.Approve, b.rt.Deny} {
		_, err = decide(context.Background(), person("bob"), op.ID, consentTo(op))
		b.refusedConsent(err, deed.ConsentDecided, "and used at")
	}
}

func TestAnExpiredProposalIsNoHumansNoAndMayBeProposedAgain(t *testing.T) {
	b := newRig(t, approving(func(a *deed.ApprovalRule) { a.Expires = time.Hour }))
	op := b.propose("12")
	b.clock.Advance(time.Hour)
	_, err := b.rt.Approve(context.Background(), person("alice"), op.ID, consentTo(op))
	b.refusedConsent(err, deed.ConsentDecided, "expired")
	again := b.propose("12")
	if again.ID != op.ID || again.Approval.Digest == op.Approval.Digest {
		t.Errorf("proposed again as %s with %s", again.ID, again.Approval.Digest)
	}
	_, err = b.rt.Approve(context.Background(), person("alice"), op.ID, consentTo(op))
	b.refusedConsent(err, deed.ConsentOtherDigest, string(again.Approval.Digest))
	b.approve(person("alice"), again)
	b.clock.Advance(time.Hour)
	b.want(b.do(refund("12")), deed.AwaitingApproval, deed.ReasonPending, 0)
}

func TestOtherArgumentsUnderAKeyThatWaitsConflictAndLeaveTheApproval(t *testing.T) {
	b := newRig(t, approving(nil))
	op := b.propose("12")
	b.want(b.do(refund("13")), deed.Conflict, deed.ReasonKeyReused, 0)
	b.approve(person("alice"), op)
	b.want(b.do(refund("12")), deed.Execute, "", 1)
}

func TestAPendingProposalSurvivesARestart(t *testing.T) {
	b := newRig(t, approving(nil))
	op := b.propose("12")
	b.rt = b.process()
	page, err := b.rt.List(context.Background(), person("alice"), deed.Query{Statuses: []deed.Status{deed.StatusAwaitingApproval}})
	if err != nil || len(page.Operations) != 1 || page.Operations[0].ID != op.ID {
		t.Fatalf("listed %v, %v", page.Operations, err)
	}
	b.approve(person("alice"), op)
	b.rt = b.process()
	b.want(b.do(refund("12")), deed.Execute, "", 1)
	b.want(b.do(refund("12")), deed.Replay, deed.ReasonStored, 1)
}

func TestReadyListsWhatAGatewayRunsByItself(t *testing.T) {
	b := newRig(t, approving(func(a *deed.ApprovalRule) { a.Expires = time.Hour }))
	first := b.propose("12")
	b.clock.Advance(time.Second)
	second := b.do(keyed("13", runtime("refund:order-1043:first"))).Operation
	waits := b.do(keyed("14", runtime("refund:order-1044:first"))).Operation
	b.approve(person("alice"), second)
	b.approve(person("alice"), first)
	ready, err := b.rt.Ready(context.Background(), 10)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]deed.OperationID{first.ID, second.ID}, idsOf(ready)); diff != "" {
		t.Errorf("ready (-want +got):\n%s", diff)
	}
	if one, _ := b.rt.Ready(context.Background(), 1); len(one) != 1 || one[0].ID != first.ID {
		t.Errorf("the first is %v", idsOf(one))
	}
	call, err := b.rt.CallOfAuthorized(context.Background(), "acme", first.ID)
	if err != nil {
		t.Fatal(err)
	}
	b.want(b.do(call), deed.Execute, "", 1)
	b.want(b.do(refund("12")), deed.Replay, deed.ReasonStored, 1)
	b.approve(person("alice"), waits)
	b.clock.Advance(time.Hour)
	if late, err := b.rt.Ready(context.Background(), 10); err != nil || len(late) != 0 {
		t.Errorf("after their time: %v, %v", idsOf(late), err)
	}
}

func TestReadyLeavesWhatItsCallerRuns(t *testing.T) {
	b := newRig(t, approving(func(a *deed.ApprovalRule) { a.OnCall = true }))
	b.approve(person("alice"), b.propose("12"))
	if ready, err := b.rt.Ready(context.Background(), 10); err != nil || len(ready) != 0 {
		t.Errorf("ready: %v, %v", idsOf(ready), err)
	}
}

func idsOf(operations []*deed.Operation) []deed.OperationID {
	var ids []deed.OperationID
	for _, op := range operations {
		ids = append(ids, op.ID)
	}
	return ids
}

func TestOnePersonUnderTwoNamesIsOnePerson(t *testing.T) {
	for _, test := range []struct {
		asked, first, second deed.Actor
		refused              deed.ConsentProblem
	}{
		{"agent", "alice", "operator:alice", deed.ConsentRepeated},
		{"agent", "operator:alice", "alice", deed.ConsentRepeated},
		{"agent", "console:local", "operator:alice", deed.ConsentRepeated},
		{"agent", "operator:alice", "console:local", deed.ConsentRepeated},
		{"agent", "operator:alice", "operator:bob", ""},
		{"agent", "alice", "operator:bob", ""},
		{"agent", "alice", "console:local", ""},
		{"alice", "bob", "operator:alice", deed.ConsentOwn},
		{"operator:alice", "bob", "alice", deed.ConsentOwn},
		{"agent", "alice", "alice@acme.example", deed.ConsentRepeated},
		{"agent", "alice@acme.example", "alice", deed.ConsentRepeated},
		{"agent", "alice@acme.example", "Alice@Acme.Example", deed.ConsentRepeated},
		{"agent", "alice@acme.example", "operator:alice", deed.ConsentRepeated},
		{"agent", "alice@acme.example", "alice@globex.example", ""},
		{"agent", "alice@acme.example", "bob@acme.example", ""},
		{"alice", "bob", "alice@acme.example", deed.ConsentOwn},
		{"alice@acme.example", "bob", "alice", deed.ConsentOwn},
		{"Alice", "bob", "operator:alice", deed.ConsentOwn},
		{"@acme.example", "bob", "@globex.example", ""},
	} {
		t.Run(string(test.first+" then "+test.second+" of "+test.asked), func(t *testing.T) {
			b := newRig(t, approving(func(a *deed.ApprovalRule) { a.Quorum = 2 }))
			call := refund("12")
			call.Principal.Actor = test.asked
			op := b.do(call).Operation
			b.approve(person(test.first), op)
			_, err := b.rt.Approve(context.Background(), person(test.second), op.ID, consentTo(op))
			if test.refused == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			b.refusedConsent(err, test.refused, "")
		})
	}
}
