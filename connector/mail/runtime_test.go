// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector/mail"
	"github.com/deed-run/deed/storetest"
)

var operator = deed.Principal{Tenant: "acme", Actor: "olga", Rights: []deed.Right{deed.RightCall, deed.RightRead, deed.RightResolve}}

// desk is a Runtime over an account.
type desk struct {
	clock   *storetest.Clock
	runtime *deed.Runtime
	account *mail.Account
}

func startDesk(t *testing.T, a *mail.Account) *desk {
	t.Helper()
	d := &desk{clock: storetest.NewClock(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)), account: a}
	rule := deed.DefaultRule("mail/mail_send")
	rule.Planting = a.Planting("mail_send")
	rule.GiveUp, rule.ReadLag, rule.MaxProcessing = time.Hour, time.Minute, 10*time.Minute
	runtime, err := deed.New(deed.Options{Store: storetest.NewMemory(d.clock), Clock: d.clock, Policy: deed.FixedPolicy{"mail/mail_send": rule}, Reconciler: a})
	if err != nil {
		t.Fatal(err)
	}
	d.runtime = runtime
	t.Cleanup(func() {
		if err := runtime.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return d
}

func (d *desk) claim(t *testing.T) (deed.Answer, *deed.Grant) {
	t.Helper()
	answer, grant, err := d.runtime.Claim(t.Context(), deed.Call{
		Principal: operator, Tool: "mail/mail_send", Arguments: []byte(`{"to":["a@example.net"],"subject":"Hello","text":"Good day."}`),
		Key: deed.OperationKey("order-1042:confirmation"), Facts: deed.ToolFacts{UpstreamIdentity: d.account.Identity()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer, grant
}

// send claims, sends and settles.
func (d *desk) send(t *testing.T) deed.Answer {
	t.Helper()
	answer, grant := d.claim(t)
	if grant == nil {
		return answer
	}
	answer, err := d.runtime.Settle(t.Context(), grant, d.account.Call(t.Context(), "mail_send", grant, grant.Arguments))
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestAMailWhoseReplyIsLostIsFoundAndNotSentAgain(t *testing.T) {
	server, cab := startPost(t, nil), startCabinet(t)
	between := startProxy(t, server.address, "dot", cutAfter, 0)
	server.address = between.address
	d := startDesk(t, withCabinet(t, server, cab, func(o *mail.Options) { o.Lookups = []mail.LookupOptions{{IMAP: []string{"Sent"}}} }))

	lost := d.send(t)
	if lost.Operation == nil || lost.Operation.Status != deed.StatusUncertain {
		t.Fatalf("%+v", lost)
	}
	if again := d.send(t); again.Decision != deed.Uncertain || len(server.accepted()) != 1 {
		t.Errorf("decided %s with %d mails", again.Decision, len(server.accepted()))
	}
	// Mail servers file what they send.
	cab.file(t, "Sent", strings.ReplaceAll(server.accepted()[0].Raw, "\r\n", "\n"))
	finding, err := d.runtime.Reconcile(t.Context(), operator, lost.Operation.ID)
	if err != nil || finding.Counted != deed.VerdictFound {
		t.Fatalf("%+v, %v", finding, err)
	}
	found := d.send(t)
	if found.Decision != deed.Replay || found.Operation.Status != deed.StatusCommitted || len(server.accepted()) != 1 {
		t.Errorf("decided %s (%s) with %d mails", found.Decision, found.Operation.Status, len(server.accepted()))
	}
	if receipt := found.Operation.Receipts[0]; receipt.EstablishedBy != "reconcile:mail-imap" || !strings.HasSuffix(receipt.RemoteID, "@example.org>") {
		t.Errorf("%+v", receipt)
	}
	if claims.Match(found.Result) || !strings.Contains(string(found.Result), "accepted_for_delivery") {
		t.Errorf("the answer is %s", found.Result)
	}
}

func TestNothingLeavesAfterSendBy(t *testing.T) {
	server := startPost(t, nil)
	d := startDesk(t, account(t, server.address, nil))
	_, grant := d.claim(t)
	d.clock.Advance(grant.Rule.Lease)
	out := d.account.Call(t.Context(), "mail_send", grant, grant.Arguments)
	if of(out) != notSent || len(server.accepted()) != 0 {
		t.Errorf("got %v: %s", of(out), out.Message)
	}
}
