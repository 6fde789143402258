// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
)

// claimed is a call of a caller that leads its own lease.
func claimed(amount, token string) deed.Call {
	call := refund(amount)
	call.ManualLease, call.ClaimToken = true, token
	return call
}

func impatient(rule *deed.Rule) { rule.Wait = -1 }

func TestTheSameClaimTokenGetsTheSameGrant(t *testing.T) {
	b := newRig(t, impatient)
	_, first := b.claim(b.rt, claimed("12", "worker-7/1"))
	b.clock.Advance(3 * time.Second)
	answer, again := b.claim(b.process(), claimed("12.0", "worker-7/1"))
	if again == nil {
		t.Fatalf("its own caller was locked out: %s(%s)", answer.Decision, answer.Reason)
	}
	type shown struct {
		Operation deed.OperationID
		Attempt   int
		SendBy    time.Time
		Arguments string
	}
	show := func(g *deed.Grant) shown { return shown{g.Operation, g.Attempt, g.SendBy, string(g.Arguments)} }
	if diff := cmp.Diff(show(first), show(again)); diff != "" {
		t.Error(diff)
	}
	if left := again.TimeToSend(); left != 27*time.Second {
		t.Errorf("the second grant may send for %s, the lease has 27s", left)
	}
	b.settle(b.rt, again, deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: "re_1"}})
	answer, _ = b.claim(b.rt, claimed("12", "worker-7/1"))
	b.want(answer, deed.Replay, deed.ReasonResultDiscarded, 0)
}

func TestAClaimTokenOpensNothingElse(t *testing.T) {
	other := deed.Principal{Tenant: "acme", Actor: "other", Rights: []deed.Right{deed.RightCall, deed.RightRead}}
	for name, c := range map[string]struct {
		change   func(*deed.Call)
		decision deed.Decision
		reason   deed.Reason
	}{
		"another token":        {func(c *deed.Call) { c.ClaimToken = "worker-8/1" }, deed.InProgress, deed.ReasonLeaseLive},
		"no token":             {func(c *deed.Call) { c.ClaimToken = "" }, deed.InProgress, deed.ReasonLeaseLive},
		"a lease of ours":      {func(c *deed.Call) { c.ManualLease = false }, deed.InProgress, deed.ReasonLeaseLive},
		"another actor":        {func(c *deed.Call) { c.Principal = other }, deed.InProgress, deed.ReasonLeaseLive},
		"another effect":       {func(c *deed.Call) { c.Arguments = refund("13").Arguments }, deed.Conflict, deed.ReasonKeyReused},
		"an equal effect's":    {func(c *deed.Call) { c.Key = deed.OperationKey("refund:order-1042:second") }, deed.InProgress, deed.ReasonTwinExecuting},
		"another upstream's":   {func(c *deed.Call) { c.Facts.UpstreamIdentity = "elsewhere" }, deed.Denied, deed.ReasonUpstreamChanged},
		"one of other tenants": {func(c *deed.Call) { c.Principal.Tenant = "globex" }, deed.Execute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newRig(t, impatient)
			b.claim(b.rt, claimed("12", "worker-7/1"))
			call := claimed("12", "worker-7/1")
			c.change(&call)
			answer, _ := b.claim(b.rt, call)
			b.want(answer, c.decision, c.reason, 0)
		})
	}
}

func TestALostLeaseIsSettledByItsClaimAndRunsAgain(t *testing.T) {
	b := newRig(t, impatient)
	_, first := b.claim(b.rt, claimed("12", "worker-7/1"))
	b.clock.Advance(31 * time.Second)
	answer, grant := b.claim(b.rt, claimed("12", "worker-7/1"))
	b.want(answer, deed.Uncertain, deed.ReasonOutcomeUnknown, 0)
	if grant != nil {
		t.Fatal("a lost lease was granted again")
	}
	late, err := b.process().Regrant(context.Background(), agent, first.Operation, first.Attempt, "worker-7/1")
	if err != nil {
		t.Fatal(err)
	}
	if err := late.MaySend(); !errors.Is(err, deed.ErrTooLate) {
		t.Errorf("a grant taken up after send_by may send: %v", err)
	}
	settled := b.settle(b.rt, late, deed.Outcome{Kind: deed.OutcomeUnsent})
	if settled.Operation.State() != deed.StateFailedRetryable {
		t.Errorf("proved unsent, it is %s", settled.Operation.State())
	}
	b.clock.Advance(time.Second)
	answer, grant = b.claim(b.rt, claimed("12", "worker-7/1"))
	b.want(answer, deed.Execute, "", 0)
	if grant == nil || grant.Attempt != 2 {
		t.Errorf("the token names its latest attempt: %+v", grant)
	}
}

func TestWhoMayTakeUpAGrant(t *testing.T) {
	reader := deed.Principal{Tenant: "acme", Actor: "reader", Rights: []deed.Right{deed.RightCall, deed.RightRead}}
	stranger := deed.Principal{Tenant: "globex", Actor: "agent", Rights: agent.Rights}
	b := newRig(t, nil)
	_, grant := b.claim(b.rt, claimed("12", "worker-7/1"))
	gateway := refund("13")
	gateway.Key = deed.OperationKey("refund:order-1042:other")
	_, internal := b.claim(b.rt, gateway)
	for name, c := range map[string]struct {
		who     deed.Principal
		id      deed.OperationID
		attempt int
		token   string
		want    error
	}{
		"its actor with the token":     {agent, grant.Operation, 1, "worker-7/1", nil},
		"its actor without a token":    {agent, grant.Operation, 1, "", nil},
		"its actor with another token": {agent, grant.Operation, 1, "worker-8/1", deed.ErrForbidden},
		"another actor":                {reader, grant.Operation, 1, "worker-7/1", deed.ErrForbidden},
		"another tenant":               {stranger, grant.Operation, 1, "worker-7/1", deed.ErrNotFound},
		"an attempt never begun":       {agent, grant.Operation, 2, "", deed.ErrNotFound},
		"an unknown operation":         {agent, "op_0", 1, "", deed.ErrNotFound},
		"an attempt of a gateway":      {agent, internal.Operation, 1, "", deed.ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := b.process().Regrant(context.Background(), c.who, c.id, c.attempt, c.token)
			if !errors.Is(err, c.want) || (got == nil) != (c.want != nil) {
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			}
		})
	}
	b.settle(b.rt, internal, deed.Outcome{Kind: deed.OutcomeUnknown})
}

func TestAnotherProcessRenewsAndSettlesAClaim(t *testing.T) {
	b := newRig(t, nil)
	_, first := b.claim(b.rt, claimed("12", ""))
	b.clock.Advance(20 * time.Second)
	other := b.process()
	grant, err := other.Regrant(context.Background(), agent, first.Operation, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Renew(context.Background(), grant); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(20 * time.Second)
	success := deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: "re_1"}}
	for range 2 {
		if settled := b.settle(other, grant, success); settled.Operation.Status != deed.StatusCommitted || len(settled.Operation.Receipts) != 1 {
			t.Errorf("%s with %d receipts", settled.Operation.Status, len(settled.Operation.Receipts))
		}
	}
	if err := other.Note(context.Background(), grant, deed.Outcome{Kind: deed.OutcomeRefused, Message: "no such order"}); err != nil {
		t.Fatal(err)
	}
	events, err := b.rt.Events(context.Background(), agent, first.Operation)
	if err != nil {
		t.Fatal(err)
	}
	last := events[len(events)-1]
	if last.Name != deed.Evidence || last.Attempt != 1 || last.Actor != agent.Actor {
		t.Errorf("what was said against the record is not kept: %+v", last)
	}
	op, err := b.rt.Get(context.Background(), agent, first.Operation)
	if err != nil || op.Status != deed.StatusCommitted {
		t.Errorf("evidence moved it: %v, %v", op, err)
	}
}

func TestACallMayNameThePartsOfItsKey(t *testing.T) {
	derived := func(run string, parts ...string) deed.Call {
		call := claimed("12", "")
		call.Key, call.Derive, call.Meta = nil, parts, map[string]string{"run": run}
		return call
	}
	b := newRig(t, impatient)
	_, first := b.claim(b.rt, derived("r1", "meta.run", "/order_id"))
	b.settle(b.rt, first, deed.Outcome{Kind: deed.OutcomeSuccess, Result: []byte(`{}`)})
	answer, _ := b.claim(b.process(), derived("r1", "meta.run", "/order_id"))
	b.want(answer, deed.Replay, deed.ReasonStored, 0)
	answer, _ = b.claim(b.rt, derived("r2", "meta.run", "/order_id"))
	b.want(answer, deed.Execute, "", 0)
	answer, _ = b.claim(b.rt, derived("r1", "meta.step"))
	b.want(answer, deed.Denied, deed.ReasonMissingOperationKey, 0)

	ruled := newRig(t, func(rule *deed.Rule) { rule.Key.From = []string{"meta.run"} })
	answer, _ = ruled.claim(ruled.rt, derived("r1", "/order_id"))
	ruled.want(answer, deed.Denied, deed.ReasonBadKey, 0)
	answer, _ = ruled.claim(ruled.rt, derived("r1", "meta.run"))
	ruled.want(answer, deed.Execute, "", 0)
}
