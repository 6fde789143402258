// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"context"
	"fmt"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

// resumptions are the failures of checkpoints that run finished steps again.
func resumptions() []story {
	return []story{
		{id: "C02", setup: setup{tools: business()}, play: c02, agent: c02Agent},
		{id: "C03", setup: setup{tools: business(), defaults: map[string]any{"timeout": "1m"}}, play: c03},
	}
}

// redeliveries are the failures of queues and of a ledger that is away.
func redeliveries() []story {
	return []story{
		{id: "D01", setup: setup{tools: business()}, play: d01, agent: d01Agent},
		{id: "D16", setup: setup{tools: business()}, play: d16, agent: d16Agent},
	}
}

func ticket() caller.Call {
	return keyed("run-1:step-1:ticket", "ticket.create", object{"id": "incident-1", "title": "Down"})
}

func c02(w *world) {
	w.call(ticket(), committed)
	for range 3 {
		w.is(w.send(w.another(), ticket()), replay)
	}
	w.counted("incident-1", 1, 1)
}

// c02Agent runs the body of its loop from the top at every resume.
func c02Agent(w *world, a agent) {
	in := intent{tool: "ticket.create", subject: "id", op: "incident-1"}
	for range 4 {
		w.finished(w.pursue(a, in))
		w.restart()
	}
	w.counted("incident-1", 1, 1)
}

// c03 is a batch of which one call still waits when all of it is sent again.
func c03(w *world) {
	ask := keyed("run-1:step-1:ask", "msg.post", object{"id": "question-1", "text": "May I?"})
	w.order(provider.Fault{Tool: "msg.post", Fault: provider.Hang, Times: 1})
	ctx, leave := context.WithCancel(w.Context())
	defer leave()
	waiting := w.inFlight(ctx, ask)
	w.call(charge("run-1:step-1:charge", "order-1", 100), committed)
	w.must(w.fixture.AwaitHeld(w.Context(), "msg.post", 1))
	leave()
	<-waiting

	resumed := w.another()
	again := make(chan faultkit.Step, 1)
	go func() { again <- w.send(resumed, ask) }()
	w.is(w.send(resumed, charge("run-1:step-1:charge", "order-1", 100)), replay)
	w.must(w.fixture.Release(w.Context(), ""))
	w.is(<-again, replay)
	w.counted("order-1", 1, 1)
	w.counted("question-1", 1, 1)
}

// d01 delivers one message forty times to eight workers.
func d01(w *world) {
	sessions := []caller.Session{w.running}
	for range 6 {
		sessions = append(sessions, w.another())
	}
	sessions = append(sessions, w.replica())
	steps := w.together(40, func(int) caller.Call { return charge("queue:message-1:delivery", "order-1", 100) }, sessions...)
	w.oneOf(steps, committed, "in_progress|replay")
	w.counted("order-1", 1, 1)
}

// d01Agent is given the same message forty times, one after the other.
func d01Agent(w *world, a agent) {
	for range 40 {
		w.finished(w.pursue(a, orderIntent("order-1")))
	}
	w.counted("order-1", 1, 1)
}

func d16(w *world) {
	call := charge("charge:order-1:first", "order-1", 100)
	w.call(charge("charge:order-0:first", "order-0", 100), committed)
	unlock := w.lockLedger()
	step := w.call(call, "denied:store_unavailable")
	w.speaks(step, intent{})
	w.counted("order-1", 0, 0)
	look := caller.Call{Tool: "ticket.search", Arguments: raw(object{"q": "order-0"})}
	if read := w.send(w.running, look); read.Err != nil || read.Result.IsError {
		w.Errorf("a read did not pass while the ledger was away: %v %q", read.Err, read.Result.Texts)
	}
	unlock()
	w.call(call, committed)
	w.call(call, replay)
	w.counted("order-1", 1, 1)
}

func d16Agent(w *world, a agent) {
	in := orderIntent("order-1")
	w.finished(w.pursue(a, orderIntent("order-0")))
	unlock := w.lockLedger()
	step := w.send(w.running, in.call("pay.charge:order-1:first", 0))
	w.is(step, "denied:store_unavailable")
	if _, again := toldToRepeat(step.Result.Texts); !again {
		w.Errorf("the text does not say to come back with the same call: %q", step.Result.Texts)
	}
	w.counted("order-1", 0, 0)
	unlock()
	w.finished(w.pursue(a, in))
	w.counted("order-1", 1, 1)
}

// ordered is the call about one of many orders.
func ordered(kind string, i int) caller.Call {
	order := fmt.Sprintf("%s-%03d", kind, i)
	return charge("charge:order-"+order, order, 100)
}
