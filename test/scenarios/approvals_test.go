// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

// approvals are the failures about what a person consents to, and how often that
// is spent.
func approvals() []story {
	limited := func() map[string]any {
		return with(business(), "pay.charge", map[string]any{"approval": map[string]any{"when": "args.amount > 1000"}})
	}
	return []story{
		{id: "F03", setup: setup{tools: limited()}, play: f03},
		{id: "F03 asked by an agent", setup: setup{tools: limited()}, agent: f03Agent},
		{id: "F09", setup: setup{tools: deploys()}, play: f09, only: func(p place) bool { return p.replicas == 2 }},
		{id: "F09 approved elsewhere", setup: setup{tools: deploys()}, play: f09Elsewhere, only: overMCP},
		{id: "F12", setup: setup{tools: refundsNeedAPerson("on_approval")}, play: f12, agent: f12Agent, only: ranByGateway},
		{id: "F18", setup: setup{tools: business()}, play: f18, rotates: true},
		{id: "F18 crash", setup: setup{tools: refundsNeedAPerson("on_call"), skewed: true}, play: f18Crash},
		{id: "A15 approved", setup: setup{tools: refundsNeedAPerson("on_approval")}, play: a15Approved, only: ranByGateway},
		{id: "C03 asking a person", setup: setup{tools: asking()}, play: c03Asking, only: ranByGateway},
	}
}

// ranByGateway leaves the proxy out: a request there is its caller's, and runs
// with the next call.
func ranByGateway(p place) bool { return p.kind != proxied }

func refundsNeedAPerson(run string) map[string]any {
	return with(business(), "pay.refund", map[string]any{"approval": map[string]any{"run": run}})
}

func asking() map[string]any {
	return map[string]any{
		"pay.charge": business()["pay.charge"],
		"msg.post":   map[string]any{"effect": "non_idempotent", "approval": "required", "receipt": receipt()},
	}
}

// deploys names a deployment by the run that wants it.
func deploys() map[string]any {
	return map[string]any{"deploy.run": map[string]any{
		"effect": "non_idempotent", "key": map[string]any{"from": []any{"tool", "meta.run", "/id"}},
		"approval": map[string]any{"run": "on_call"}, "receipt": receipt(),
	}}
}

// proposed makes a call that must wait for a person, and returns its operation.
func (w *world) proposed(c caller.Call) string {
	w.Helper()
	step := w.call(c, "awaiting_approval")
	if step.Result.Operation == nil || step.Result.Operation.ID == "" {
		w.Fatalf("what waits for a person has no name: %s", step.Result.Raw)
	}
	return step.Result.Operation.ID
}

// approve consents to a proposal from the command line, as an operator does.
func (w *world) approve(id string) {
	w.Helper()
	w.ops("approve", id, "--digest", w.shown(id).Approval.Digest, "--reason", "seen the order")
}

// done waits until an approved operation is answered with its result: the gateway
// runs it, unless the caller's next call comes first.
func (w *world) done(c caller.Call) {
	w.Helper()
	for {
		step := w.send(w.running, c)
		if step.String() != inProgress && step.String() != "awaiting_approval" {
			w.is(step, committed+"|"+replay)
			return
		}
		w.wait(0)
	}
}

// f03 writes a large amount in ways that a rule over raw JSON would miss.
func f03(w *world) {
	for i, amount := range []string{`,"amount":"5000"`, ``, `,"amount":5e3`, `,"amount":1000.0000001`, `,"amount":5000`} {
		order := fmt.Sprintf("order-%d", i)
		step := w.call(keyed("charge:"+order+":first", "pay.charge", fmt.Sprintf(`{"order_id":%q%s}`, order, amount)), "awaiting_approval")
		w.speaks(step, intent{})
		w.counted(order, 0, 0)
	}
	w.call(charge("charge:order-9:first", "order-9", 1000), committed)
	w.counted("order-9", 1, 1)
	// At a door that knows the tool's schema this is refused, at the others it waits.
	w.call(keyed("charge:order-8:first", "pay.charge", `{"order_id":"order-8","amount":null}`), "awaiting_approval|denied:bad_arguments")
	w.counted("order-8", 0, 0)
	if n := len(w.list("awaiting_approval")); n < 5 {
		w.Errorf("%d proposals wait for a person, want 5", n)
	}
}

// f03Agent wants too much and is nudged to try on; a person says no.
func f03Agent(w *world, a agent) {
	call := func(i int) caller.Call {
		return caller.Call{Tool: "pay.charge", Arguments: raw(object{
			"order_id": "order-1", "amount": 5000 + i, "idempotency_key": fmt.Sprintf("charge:order-1:try-%d", i),
		})}
	}
	id := w.proposed(call(0))
	for i := range rounds {
		// About one order, one proposal waits at a time.
		w.is(w.send(w.running, call(i)), "awaiting_approval|denied:twin_pending")
	}
	w.ops("deny", id, "--digest", w.shown(id).Approval.Digest, "--reason", "the order was never paid")
	step := w.send(w.running, call(0))
	w.is(step, "denied:by_person")
	if text := strings.Join(step.Result.Texts, " "); !strings.Contains(text, "never paid") {
		w.Errorf("%s is not told why: %q", a, text)
	}
	w.counted("order-1", 0, 0)
}

// f09 lets two runs of one wish meet an approval that was given to one of them.
func f09(w *world) {
	deploy := func(run string) caller.Call {
		return caller.Call{
			Tool: "deploy.run", Arguments: raw(object{"id": "prod", "env": "prod", "image": "img1"}), Meta: object{"deed/run": run},
		}
	}
	w.approve(w.proposed(deploy("R1")))
	steps := w.together(8, func(i int) caller.Call { return deploy([]string{"R1", "R1", "R2", "R2"}[i%4]) }, w.running)
	executed := 0
	for _, step := range steps {
		w.is(step, committed+"|in_progress|replay|awaiting_approval|denied:twin_pending")
		if step.String() == committed {
			executed++
		}
	}
	if executed != 1 {
		w.Errorf("one approval ran %d deployments", executed)
	}
	w.call(deploy("R1"), replay)
	w.call(deploy("R2"), "awaiting_approval")
	w.counted("prod", 1, 1)
}

// f12 restarts everything while a person thinks.
func f12(w *world) {
	id := w.proposed(refund())
	w.restart()
	waiting := w.list("awaiting_approval")
	if len(waiting) != 1 || waiting[0].ID != id {
		w.Errorf("after the restart there wait %+v, want %s", waiting, id)
	}
	if !w.door.stdio() {
		resp, err := plain().Get("http://" + w.gateway.Address + "/op/" + id)
		w.must(err)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			w.Errorf("the link to the proposal answers %s", resp.Status)
		}
	}
	w.call(refund(), "awaiting_approval")
	w.counted("order-1", 0, 0)
	w.approve(id)
	_, err := w.fixture.Effects(w.Context(), provider.Selection{Op: "order-1", AtLeast: 1})
	w.must(err)
	w.done(refund())
	w.restart()
	w.call(refund(), replay)
	w.counted("order-1", 1, 1)
}

// f12Agent is told to wait, and a person answers while it is away.
func f12Agent(w *world, _ agent) {
	in := intent{tool: "pay.refund", subject: "order_id", op: "order-1"}
	call := in.call("refund:order-1:first", 0)
	id := w.proposed(call)
	w.restart()
	w.approve(id)
	w.done(call)
	w.counted("order-1", 1, 1)
}

// f18 lets two hundred claims race for one operation, on two replicas.
func f18(w *world) {
	call := func(int) caller.Call { return charge("charge:order-1:first", "order-1", 100) }
	w.oneOf(w.together(200, call, w.running, w.replica()), committed, "in_progress|replay")
	w.counted("order-1", 1, 1)
}

// f18Crash dies where a claim that consumed its approval first would lose it.
func f18Crash(w *world) {
	w.approve(w.proposed(refund()))
	w.restart("DEED_CRASH_AT=P1")
	w.call(refund(), "no answer")
	w.crash()
	w.call(refund(), committed)
	w.call(refund(), replay)
	w.counted("order-1", 1, 1)
}

// a15Approved is the refund that went out nine times: approved once, answered 503
// whenever it arrives, through two restarts.
func a15Approved(w *world) {
	w.misbehave(provider.Commit5xx, provider.Commit5xx, provider.Commit5xx)
	id := w.proposed(refund())
	w.approve(id)
	_, err := w.fixture.Effects(w.Context(), provider.Selection{Op: "order-1", AtLeast: 1})
	w.must(err)
	var step faultkit.Step
	for step = w.send(w.running, refund()); step.String() == inProgress; step = w.send(w.running, refund()) {
		w.wait(0)
	}
	w.is(step, uncertain)
	for range 2 {
		w.restart()
		w.call(refund(), uncertain)
	}
	op := w.shown(id)
	spent := 0
	for _, event := range op.Events {
		if event.Name == "begun" {
			spent++
		}
	}
	if op.Attempt != 1 || spent != 1 || op.Approval.SpentAt == "" {
		w.Errorf("one approval, %d attempts, %d times begun, spent at %q", op.Attempt, spent, op.Approval.SpentAt)
	}
	if again, err := w.tryOps("approve", id, "--digest", op.Approval.Digest); err == nil {
		w.Errorf("the approval was given once more: %s", again)
	}
	w.counted("order-1", 1, 1)
}

// c03Asking is a batch of which one call waits for a person when all of it is
// sent again.
func c03Asking(w *world) {
	ask := keyed("run-1:step-1:ask", "msg.post", object{"id": "question-1", "text": "May I?"})
	pay := charge("run-1:step-1:charge", "order-1", 100)
	batch := []caller.Call{pay, ask}
	steps := w.together(2, func(i int) caller.Call { return batch[i] }, w.running)
	w.is(steps[0], committed)
	w.is(steps[1], "awaiting_approval")
	w.approve(steps[1].Result.Operation.ID)
	slices.Reverse(batch)
	resumed := w.another()
	w.is(w.send(resumed, pay), replay)
	w.done(ask)
	w.is(w.send(resumed, pay), replay)
	w.counted("order-1", 1, 1)
	w.counted("question-1", 1, 1)
}
