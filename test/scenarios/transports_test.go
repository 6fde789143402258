// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"context"
	"errors"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/inject"
	"github.com/deed-run/deed/faultkit/provider"
)

// transports are the failures of clients, proxies and cancellation.
func transports() []story {
	// Only there does a begin wait for the ledger, and lines are read in order.
	waiting := func(p place) bool { return p.stdio() && p.ledger == inSQLite && p.replicas == 1 }
	return []story{
		{id: "B03", setup: setup{tools: perRun("meta.run")}, play: b03, agent: b03Agent},
		{id: "B03 without a run", setup: setup{tools: perRun("meta.run")}, play: b03WithoutRun},
		{id: "B03 without a key", setup: setup{tools: business()}, play: b03WithoutKey, agent: b03WithoutKeyAgent},
		{id: "B06", setup: setup{tools: business()}, play: b06, only: overMCP},
		{id: "B06 of programs", setup: setup{tools: business()}, play: b06Programs, only: byPrograms},
		{id: "B07", setup: setup{tools: business(), defaults: map[string]any{"wait": "50ms", "timeout": "1m"}}, play: b07, agent: b07Agent},
		{
			id: "B07 by a notification", play: b07Notified, only: func(p place) bool { return p.mcp() && !p.stdio() && !p.modern() && p.replicas == 1 },
			setup: setup{tools: business(), defaults: map[string]any{"wait": "50ms", "timeout": "1m"}},
		},
		{id: "B07 before begin", setup: setup{tools: business()}, play: b07BeforeBegin, only: waiting},
	}
}

func b03(w *world) {
	w.call(inRun("R1", "call_1"), committed)
	w.is(w.send(w.another(), inRun("R1", "call_1")), replay)
	w.counted("order-1", 1, 1)

	lost := inRun("R1", "call_2")
	lost.Arguments = raw(object{"order_id": "order-2", "amount": 100})
	w.misbehave(provider.CommitDrop)
	w.call(lost, unknown)
	w.is(w.send(w.another(), lost), "uncertain:outcome_unknown")
	w.counted("order-2", 1, 1)
}

func b03Agent(w *world, a agent) {
	w.misbehave(provider.CommitDrop)
	in := orderIntent("order-1")
	in.keyless, in.meta = true, object{"deed/run": "R1"}
	w.leftUnconfirmed(w.pursue(a, in))
	w.restart()
	w.leftUnconfirmed(w.resume(a, in, "reconnected"))
	w.counted("order-1", 1, 1)
}

func b03WithoutRun(w *world) {
	call := inRun("R1", "call_1")
	delete(call.Meta, "deed/run")
	w.call(call, "denied:missing_operation_key")
	w.counted("order-1", 0, 0)
}

func b03WithoutKey(w *world) {
	call := charge("", "order-1", 100)
	call.Meta = nil
	w.call(call, "denied:missing_operation_key")
	w.counted("order-1", 0, 0)
}

// b03WithoutKeyAgent forgets the key; the text must be enough to add one.
func b03WithoutKeyAgent(w *world, a agent) {
	in := orderIntent("order-1")
	in.keyless = true
	step := w.send(w.running, in.call("", 0))
	w.is(step, "denied:missing_operation_key")
	w.verdict(step)
	w.counted("order-1", 0, 0)
	w.finished(w.pursue(a, orderIntent("order-1")))
	w.counted("order-1", 1, 1)
}

// b06 puts a hop before the gateway that sends the call twice.
func b06(w *world) {
	session, control := w.hop(inject.Plan{Mishap: inject.Duplicate})
	w.is(w.send(session, charge("charge:order-1:first", "order-1", 100)), committed+"|in_progress|replay")
	w.must(control.AwaitStruck(w.Context(), 1))
	w.counted("order-1", 1, 1)
	w.is(w.send(session, charge("charge:order-1:first", "order-1", 100)), replay)
	w.counted("order-1", 1, 1)
}

// b06Programs is the hop of programs: the same request twice, at two gateways
// where there are two.
func b06Programs(w *world) {
	call := func(int) caller.Call { return charge("charge:order-1:first", "order-1", 100) }
	w.oneOf(w.together(2, call, w.running), committed, "in_progress|replay")
	w.counted("order-1", 1, 1)
	w.call(call(0), replay)
	w.counted("order-1", 1, 1)
}

// inFlight sends a call that the caller may leave.
func (w *world) inFlight(ctx context.Context, c caller.Call) <-chan faultkit.Step {
	done := make(chan faultkit.Step, 1)
	session := w.running.first()
	go func() {
		result, err := caller.CallTool(ctx, session, c)
		done <- faultkit.Step{Result: result, Err: err}
	}()
	return done
}

// b07 cancels a call that is at work: with a notification over stdio, by closing
// the response stream over HTTP.
func b07(w *world) {
	w.misbehave(provider.Hang)
	ctx, leave := context.WithCancel(w.Context())
	defer leave()
	first := w.inFlight(ctx, charge("charge:order-1:first", "order-1", 100))
	w.must(w.fixture.AwaitHeld(w.Context(), "pay.charge", 1))
	if stdio := w.running.stdio(); stdio != nil {
		w.must(stdio.Notify("notifications/cancelled", object{"requestId": 2, "reason": "the user pressed stop"}))
	}
	leave()
	if step := <-first; !errors.Is(step.Err, caller.ErrNoAnswer) {
		w.Errorf("the caller left, and yet: %s", step)
	}
	w.call(charge("charge:order-1:first", "order-1", 100), "in_progress:lease_live")
	if list := w.list(""); len(list) != 1 || list[0].Effective != "executing" {
		w.Errorf("recorded while it runs: %+v", list)
	}
	w.must(w.fixture.Release(w.Context(), ""))
	w.again(charge("charge:order-1:first", "order-1", 100), replay)
	w.counted("order-1", 1, 1)
}

// b07Agent is a user who presses stop and asks the agent for the same again.
func b07Agent(w *world, a agent) {
	w.misbehave(provider.Hang)
	ctx, leave := context.WithCancel(w.Context())
	defer leave()
	first := w.inFlight(ctx, orderIntent("order-1").call("pay.charge:order-1:first", 0))
	w.must(w.fixture.AwaitHeld(w.Context(), "pay.charge", 1))
	leave()
	<-first
	if a == naive {
		// It never waits: it ends while the first call is still at work.
		w.pursue(a, orderIntent("order-1"))
		w.counted("order-1", 1, 0)
		w.must(w.fixture.Release(w.Context(), ""))
	} else {
		w.is(w.send(w.running, orderIntent("order-1").call("pay.charge:order-1:first", 0)), inProgress)
		w.must(w.fixture.Release(w.Context(), ""))
		w.finished(w.pursue(a, orderIntent("order-1")))
	}
	_, err := w.fixture.Effects(w.Context(), provider.Selection{Op: "order-1", AtLeast: 1})
	w.must(err)
	w.counted("order-1", 1, 1)
}

// b07BeforeBegin cancels while the gateway cannot write to its ledger yet.
func b07BeforeBegin(w *world) {
	unlock := w.lockLedger()
	first := w.inFlight(w.Context(), charge("charge:order-1:first", "order-1", 100))
	stdio := w.running.stdio()
	w.must(stdio.Notify("notifications/cancelled", object{"requestId": 2}))
	// Lines are read in order: after this answer the cancellation was read too.
	if _, err := stdio.Request(w.Context(), "ping", object{}); err != nil {
		w.Fatal(err)
	}
	unlock()
	select {
	case step := <-first:
		w.Logf("the cancelled call was answered: %s", step)
	default:
	}
	// A cancellation that overtakes its call ends nothing: then the call has run.
	w.call(charge("charge:order-1:first", "order-1", 100), committed+"|"+replay)
	w.counted("order-1", 1, 1)
}
