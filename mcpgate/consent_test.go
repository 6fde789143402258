// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
)

var (
	approver = deed.Principal{Tenant: "t", Actor: "ada", Rights: []deed.Right{deed.RightRead, deed.RightApprove}}
	operator = deed.Principal{Tenant: "t", Actor: "ops", Rights: []deed.Right{deed.RightRead, deed.RightResolve}}
)

// consented is a policy under which add needs a person.
func consented(rule deed.ApprovalRule) deed.Policy {
	return hints(func(r *deed.Rule) {
		if r.Tool.Name() != "get" {
			r.Approval = &rule
		}
	})
}

// pending is the operation that waits for a person.
func (h house) pending(t *testing.T) *deed.Operation {
	t.Helper()
	page, err := h.runtime.List(t.Context(), operator, deed.Query{Statuses: []deed.Status{deed.StatusAwaitingApproval, deed.StatusAuthorized}})
	if err != nil || len(page.Operations) != 1 {
		t.Fatalf("%v, %v", page, err)
	}
	return page.Operations[0]
}

func (h house) approve(t *testing.T) *deed.Operation {
	t.Helper()
	op := h.pending(t)
	op, err := h.runtime.Approve(t.Context(), approver, op.ID, deed.Consent{Digest: op.Approval.Digest})
	if err != nil {
		t.Fatal(err)
	}
	return op
}

func TestAnApprovedActionRunsByItselfAndIsReplayed(t *testing.T) {
	command, log := hostile(t)
	h := build(t, nil, consented(deed.ApprovalRule{}), func(o *mcpgate.GateOptions) { o.RunsApproved = true })
	c := serve(t, mcpgate.Stdio{Name: "hostile", Upstream: command, Principal: tester, Guard: h.gate})
	c.initialize()
	args := `{"n":7,"idempotency_key":` + key1 + `}`
	waiting := c.call("1", "add", args)
	mustDecide(t, waiting, map[string]any{"decision": "awaiting_approval", "status": "awaiting_approval"})
	mustContain(t, waiting, "Not done yet and not an error", "It runs by itself once approved.", "Ask at most every 5 min", `"isError":true`)
	mustDecide(t, c.call("2", "add", `{"n":8,"idempotency_key":`+key1+`}`), map[string]any{"decision": "conflict"})
	mustContain(t, c.call("3", "deed_operations", `{"status":"pending"}`), `"status":"awaiting_approval"`, `"approve_by":"`)

	link := command.Open(func(mcpgate.Event) {}, true)
	defer link.Close()
	waits := h.pending(t).ID
	var refused *deed.RefusedError
	if _, err := h.gate.RunApproved(t.Context(), link, nil, "t", waits); !errors.As(err, &refused) {
		t.Errorf("it ran before it was approved: %v", err)
	}
	op := h.approve(t)
	// However many workers there are, it runs once.
	var group sync.WaitGroup
	decisions := make(chan deed.Answer, 8)
	for range cap(decisions) {
		group.Go(func() {
			answer, err := h.gate.RunApproved(t.Context(), link, nil, "t", op.ID)
			if err != nil && !errors.As(err, new(*deed.RefusedError)) {
				t.Error(err)
			}
			decisions <- answer
		})
	}
	group.Wait()
	close(decisions)
	executed := 0
	for answer := range decisions {
		if answer.Decision == deed.Execute {
			executed++
		}
	}
	calls := received(t, log, "tools/call")
	if executed != 1 || len(calls) != 1 || !strings.Contains(calls[0], `"arguments":{"n":7}`) {
		t.Errorf("%d executed, the upstream received %q", executed, calls)
	}
	mustDecide(t, c.call("4", "add", args), map[string]any{"decision": "replay", "status": "committed"})
}

func TestAnApprovedActionRunsWithItsNextCall(t *testing.T) {
	h := build(t, nil, consented(deed.ApprovalRule{OnCall: true}), func(o *mcpgate.GateOptions) { o.RunsApproved = true })
	c, log := guarded(t, h)
	c.initialize()
	args := `{"n":7,"idempotency_key":` + key1 + `}`
	mustContain(t, c.call("1", "add", args), "After approval call again with the same key.")
	h.approve(t)
	mustDecide(t, c.call("2", "add", args), map[string]any{"decision": "execute", "status": "committed"})
	if calls := received(t, log, "tools/call"); len(calls) != 1 {
		t.Errorf("the upstream received %q", calls)
	}
}

func TestARefusalReachesTheCallerWithItsReason(t *testing.T) {
	h := build(t, nil, consented(deed.ApprovalRule{}), nil)
	c, log := guarded(t, h)
	c.initialize()
	args := `{"n":7,"idempotency_key":` + key1 + `}`
	c.call("1", "add", args)
	op := h.pending(t)
	if _, err := h.runtime.Deny(t.Context(), approver, op.ID, deed.Consent{Digest: op.Approval.Digest, Reason: "too much at once"}); err != nil {
		t.Fatal(err)
	}
	line := c.call("2", "add", args)
	mustDecide(t, line, map[string]any{"decision": "denied", "reason": "by_person"})
	mustContain(t, line, "ada said no: too much at once", "do not propose it again under another key")
	if calls := received(t, log, "tools/call"); len(calls) != 0 {
		t.Errorf("the upstream received %q", calls)
	}
}

func TestWhatAConditionSeesIsWhatTheUpstreamMaySee(t *testing.T) {
	h := build(t, nil, hints(func(r *deed.Rule) {
		r.Approval = &deed.ApprovalRule{When: func(arguments []byte, _ deed.Principal) bool {
			return !strings.Contains(string(arguments), `"amount":10`) || strings.Contains(string(arguments), `.0000001`)
		}}
	}), nil)
	u := newHeld()
	u.offers(`{"name":"pay","inputSchema":{"type":"object","properties":{"amount":{"type":"number","default":5000}}}}`)
	c := serve(t, mcpgate.Stdio{Name: "held", Upstream: u, Principal: tester, Guard: h.gate, Drain: time.Millisecond})
	for i, arguments := range []string{`"amount":"5000",`, ``, `"amount":5e3,`, `"amount":1000.0000001,`} {
		line := c.call(fmt.Sprint(i+1), "pay", fmt.Sprintf(`{%s"idempotency_key":"pay:order-%d:first"}`, arguments, i))
		mustDecide(t, line, map[string]any{"decision": "awaiting_approval"})
	}
	if n := u.count("tools/call"); n != 0 {
		t.Errorf("the upstream received %d calls", n)
	}
	mustDecide(t, answered(c, u, "9", `{"name":"pay","arguments":{"amount":"10","idempotency_key":"pay:order-9:first"}}`), map[string]any{"status": "committed"})
}

func TestAConsentGivenElsewhereIsSpentOnce(t *testing.T) {
	h := build(t, nil, consented(deed.ApprovalRule{OnCall: true}), func(o *mcpgate.GateOptions) {
		o.VerifyConsent = func(_ context.Context, signed string) (*deed.ExternalConsent, error) {
			digest, ok := strings.CutPrefix(signed, "signed:")
			if !ok {
				return nil, errors.New("the signature of the approval does not fit")
			}
			return &deed.ExternalConsent{ID: "consent-1", Digest: deed.Digest(digest), Approver: "ada"}, nil
		}
	})
	c, log := guarded(t, h)
	c.initialize()
	call := func(id, key, consent string) string {
		c.send(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"add","arguments":{"n":%s,"idempotency_key":%q},"_meta":{"deed/approval":%q}}}`, id, id[:1], key, consent)
		return c.reply(id)
	}
	mustDecide(t, call("1", "add:order-1042:first", "forged"), map[string]any{"decision": "denied", "reason": "approval_invalid"})
	digest := string(h.pending(t).Approval.Digest)
	forged := call("10", "add:order-1042:first", "forged")
	mustDecide(t, forged, map[string]any{"decision": "denied", "reason": "approval_invalid"})
	mustContain(t, forged, "the signature of the approval does not fit")
	// What has to be compared stands in the answer, however long.
	other := "sha256:" + strings.Repeat("0", 64)
	for _, given := range []string{other, digest[:40], strings.Repeat("x", 500)} {
		mustContain(t, call("13", "add:order-1042:first", "signed:"+given), digest, "[op_")
	}
	mustDecide(t, call("11", "add:order-1042:first", "signed:"+digest), map[string]any{"decision": "execute", "status": "committed"})
	// Once spent, a bad one hides nothing that is recorded.
	mustDecide(t, call("12", "add:order-1042:first", "forged"), map[string]any{"decision": "replay"})
	spent := call("2", "add:order-1043:first", "signed:"+digest)
	mustDecide(t, spent, map[string]any{"decision": "denied", "reason": "approval_invalid"})
	mustContain(t, spent, "was spent for")
	calls := received(t, log, "tools/call")
	if len(calls) != 1 || strings.Contains(calls[0], "approval") {
		t.Errorf("the upstream received %q", calls)
	}
}

func TestAStoredRunGoesNowhereElse(t *testing.T) {
	place := "here"
	h := build(t, nil, consented(deed.ApprovalRule{}), func(o *mcpgate.GateOptions) {
		o.UpstreamIdentity = func(string) string { return place }
	})
	u := newHeld()
	const tool = `{"name":"add","inputSchema":{"type":"object"}}`
	u.offers(tool)
	c := serve(t, mcpgate.Stdio{Name: "held", Upstream: u, Principal: tester, Guard: h.gate, Drain: time.Millisecond})
	c.send(addCall, 1, "")
	c.reply("1")
	op := h.approve(t)
	run := func(who deed.Principal) deed.Answer {
		t.Helper()
		answer, err := h.gate.RunStored(t.Context(), u, nil, who, op.ID)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	place = "elsewhere"
	h.gate.Changed("held")
	c.list("2")
	if answer := run(operator); answer.Decision != deed.Denied || answer.Reason != deed.ReasonUpstreamChanged {
		t.Errorf("%s(%s)", answer.Decision, answer.Reason)
	}
	place = "here"
	u.offers(strings.Replace(tool, `{"type":"object"}`, `{"type":"object","properties":{"to":{}}}`, 1))
	h.gate.Changed("held")
	c.list("3")
	if answer := run(operator); answer.Decision != deed.Denied || answer.Reason != deed.ReasonQuarantined || answer.Effective != deed.StatusAuthorized {
		t.Errorf("%s(%s), %s", answer.Decision, answer.Reason, answer.Effective)
	}
	if _, err := h.gate.RunStored(t.Context(), u, nil, approver, op.ID); !errors.Is(err, deed.ErrForbidden) {
		t.Errorf("who may approve may run: %v", err)
	}
	if n := u.count("tools/call"); n != 0 {
		t.Errorf("the upstream received %d calls", n)
	}
}
