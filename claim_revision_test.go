// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
)

func TestWhatWasApprovedForAnotherRevisionIsNotSent(t *testing.T) {
	clock := storetest.NewClock(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	policy := deed.FixedPolicy{"mail/draft_send": {Approval: &deed.ApprovalRule{}}}
	rt, err := deed.New(deed.Options{Store: storetest.NewMemory(clock), Policy: policy, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close(context.Background())
	agent := deed.Principal{Tenant: "t", Actor: "agent", Rights: []deed.Right{deed.RightCall}}
	ada := deed.Principal{Tenant: "t", Actor: "ada", Rights: []deed.Right{deed.RightRead, deed.RightApprove}}
	revision, unread, sent := "1", error(nil), 0
	send := func(key string) deed.Answer {
		t.Helper()
		call := deed.Call{
			Principal: agent, Tool: "mail/draft_send", Arguments: []byte(`{"draft":"` + key + `"}`), Key: deed.OperationKey(key),
			Revision: func(context.Context) (string, error) { return revision, unread },
		}
		answer, err := rt.Do(t.Context(), call, func(context.Context, deed.Attempt) (deed.Receipt, error) {
			sent++
			revision = "sent" // what is sent changes it
			return deed.Receipt{RemoteID: "m-1"}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	expect := func(answer deed.Answer, decision deed.Decision, reason deed.Reason) {
		t.Helper()
		if answer.Decision != decision || reason != "" && answer.Reason != reason {
			t.Errorf("%s(%s) %s, want %s(%s)", answer.Decision, answer.Reason, answer.Text, decision, reason)
		}
	}
	approve := func(op *deed.Operation) {
		t.Helper()
		if _, err := rt.Approve(t.Context(), ada, op.ID, deed.Consent{Digest: op.Approval.Digest}); err != nil {
			t.Fatal(err)
		}
	}

	proposed := send("draft:1042:send:1")
	expect(proposed, deed.AwaitingApproval, deed.ReasonPending)
	if got := proposed.Operation.Approval.Revision; got != "1" || proposed.Operation.Meta[deed.MetaRevision] != "1" {
		t.Errorf("the proposal is for revision %q, meta %v", got, proposed.Operation.Meta)
	}
	approve(proposed.Operation)
	revision = "2"
	changed := send("draft:1042:send:1")
	expect(changed, deed.Denied, deed.ReasonRevisionChanged)
	if !strings.Contains(changed.Text, `approved for revision "1" and is at "2"`) || changed.Effective != deed.StatusAuthorized {
		t.Errorf("%s, %s", changed.Text, changed.Effective)
	}
	unread = errors.New("no answer")
	expect(send("draft:1042:send:1"), deed.Denied, deed.ReasonRevisionChanged)
	if sent != 0 {
		t.Fatalf("%d were sent", sent)
	}
	unread, revision = nil, "1"
	expect(send("draft:1042:send:1"), deed.Execute, "")
	// A repeat is answered whatever the revision is by now.
	expect(send("draft:1042:send:1"), deed.Replay, deed.ReasonResultDiscarded)

	other := send("draft:1043:send:1")
	if other.Operation.Approval.Digest == proposed.Operation.Approval.Digest {
		t.Error("two proposals have one digest")
	}
	if sent != 1 {
		t.Errorf("%d were sent", sent)
	}
}

func TestACallWhoseRevisionCannotBeReadIsNotSent(t *testing.T) {
	clock := storetest.NewClock(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	rt, err := deed.New(deed.Options{Store: storetest.NewMemory(clock), Policy: deed.FixedPolicy{}, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close(context.Background())
	call := deed.Call{
		Principal: deed.Principal{Tenant: "t", Actor: "agent", Rights: []deed.Right{deed.RightCall}}, Tool: "mail/draft_send",
		Arguments: []byte(`{}`), Key: deed.OperationKey("draft:1042:send:1"),
		Revision: func(context.Context) (string, error) { panic("boom") },
	}
	answer, err := rt.Do(t.Context(), call, func(context.Context, deed.Attempt) (deed.Receipt, error) {
		t.Error("it was sent")
		return deed.Receipt{}, nil
	})
	if err != nil || answer.Decision != deed.Denied || answer.Reason != deed.ReasonRevisionChanged {
		t.Errorf("%s(%s), %v", answer.Decision, answer.Reason, err)
	}
}
