// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"strings"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

// lostAnswers are the failures in which an effect landed and its answer did not.
func lostAnswers() []story {
	return []story{
		{id: "A01", setup: setup{tools: business()}, play: a01, agent: a01Agent},
		{id: "A03", setup: setup{tools: perRun("meta.run")}, play: a03, agent: a03Agent},
		{id: "A03 across runs", setup: setup{tools: perRun()}, play: a03AcrossRuns},
		{id: "A10", setup: setup{tools: wordless("mail.send")}, play: a10, agent: a10Agent},
		{id: "A10 not applied", setup: setup{tools: business()}, play: a10NotApplied},
		{id: "A12", setup: setup{tools: business()}, play: a12, agent: a12Agent},
		// Over MCP the trust in a refusal is put into its text.
		{id: "A12 trusted refusal", setup: setup{tools: trusting(), command: true}, play: a12Trusted, agent: a12TrustedAgent, only: overMCP},
		{id: "A15", setup: setup{tools: business()}, play: a15, agent: a15Agent},
	}
}

func a01(w *world) {
	w.alone()
	w.misbehave(provider.CommitDrop)
	w.call(charge("charge:order-1:first", "order-1", 100), unknown)
	w.call(charge("charge:order-1:first", "order-1", 100), "uncertain:outcome_unknown")
	w.counted("order-1", 1, 1)
	w.restart()
	w.call(charge("charge:order-1:first", "order-1", 100), "uncertain:outcome_unknown")
	w.counted("order-1", 1, 1)
	if list := w.list("uncertain"); len(list) != 1 || list[0].Key != "charge:order-1:first" {
		w.Errorf("recorded as uncertain: %+v", list)
	}
}

func a01Agent(w *world, a agent) {
	w.alone()
	w.misbehave(provider.CommitDrop)
	w.leftUnconfirmed(w.pursue(a, orderIntent("order-1")))
	w.counted("order-1", 1, 1)
}

// leftUnconfirmed checks that an agent ended without a result and can tell its
// user that nobody knows.
func (w *world) leftUnconfirmed(end conclusion) {
	w.Helper()
	if end.done || !strings.Contains(end.text, "unconfirmed") {
		w.Errorf("the agent should tell that the action is unconfirmed; it ended (done %t) with %q", end.done, end.text)
	}
}

// finished checks that an agent ended with a result.
func (w *world) finished(end conclusion) {
	w.Helper()
	if !end.done {
		w.Errorf("the agent did not finish; after %d calls it was left with %q", len(end.steps), end.text)
	}
}

// perRun derives the key of a charge from the order and the named facts.
func perRun(facts ...any) map[string]any {
	from := append([]any{"tool", "/order_id"}, facts...)
	return with(wordless("pay.charge"), "pay.charge", map[string]any{"key": map[string]any{"from": from}})
}

// inRun is a call that a runtime makes under an id of its own.
func inRun(run, id string) caller.Call {
	return caller.Call{
		Tool: "pay.charge", Arguments: raw(object{"order_id": "order-1", "amount": 100}), Meta: object{"deed/run": run, "claudecode/toolUseId": id},
	}
}

func a03(w *world) {
	w.call(inRun("R1", "call_1"), committed)
	w.call(inRun("R1", "call_3"), replay)
	w.call(inRun("R1", "call_5"), replay)
	w.counted("order-1", 1, 1)
	second := w.call(inRun("R2", "call_7"), committed)
	if op := second.Result.Operation; op == nil || len(op.SimilarTo) == 0 {
		w.Errorf("the charge of the second run does not say that it is similar to the first: %s", second.Result.Raw)
	}
	w.counted("order-1", 2, 2)
}

func a03AcrossRuns(w *world) {
	w.call(inRun("R1", "call_1"), committed)
	w.call(inRun("R2", "call_1"), replay)
	w.counted("order-1", 1, 1)
}

// a03Agent replays the whole run with a model that remembers nothing of it.
func a03Agent(w *world, a agent) {
	in := orderIntent("order-1")
	in.keyless, in.meta = true, object{"deed/run": "R1"}
	w.finished(w.pursue(a, in))
	w.finished(w.resume(a, in, "replayed"))
	w.counted("order-1", 1, 1)
}

func reply() caller.Call {
	return keyed("mail:reply-7:first", "mail.send", object{"id": "reply-7", "to": "a@example.org", "body": "Hello"})
}

func a10(w *world) {
	w.misbehave(provider.CommitDrop)
	step := w.call(reply(), unknown)
	w.ops("resolve", step.Result.Operation.ID, "--committed", "--remote-id", "m1", "--reason", "the mail server's log shows it")
	got := w.call(reply(), replay)
	if id := got.Result.Operation.RemoteID(); id != "m1" {
		w.Errorf("the replay names %q, want m1", id)
	}
	if text := strings.Join(got.Result.Texts, " "); w.door.mcp() && (!strings.Contains(text, "m1") || !strings.Contains(text, "Already done")) {
		w.Errorf("a model cannot tell what was done: %q", text)
	}
	w.counted("reply-7", 1, 1)
}

func a10NotApplied(w *world) {
	// The first mail is refused after all, which only a person can know.
	w.order(provider.Fault{Fault: provider.RPCErrorFault, Times: 1})
	step := w.call(reply(), unknown)
	w.ops("resolve", step.Result.Operation.ID, "--not-applied", "--reason", "it is not in the mail server's log")
	w.call(reply(), committed)
	w.call(reply(), replay)
	w.counted("reply-7", 2, 1)
}

func a10Agent(w *world, a agent) {
	w.misbehave(provider.CommitDrop)
	end := w.pursue(a, mailIntent("reply-7"))
	w.leftUnconfirmed(end)
	w.ops("resolve", end.steps[0].Result.Operation.ID, "--committed", "--remote-id", "m1", "--reason", "seen in the log")
	if a == timid {
		// A replay without the stored result is marked as an error, because clients
		// validate successes only. NAIVE takes it for one, and its next key is a
		// second action.
		end = w.resume(a, mailIntent("reply-7"), "first")
		if !strings.Contains(end.text, "Already done") || !strings.Contains(end.text, "m1") {
			w.Errorf("the agent cannot tell that it is done: %q", end.text)
		}
	}
	w.counted("reply-7", 1, 1)
}

func refund() caller.Call {
	return keyed("refund:order-1:first", "pay.refund", object{"order_id": "order-1", "amount": 47})
}

func a15(w *world) {
	w.misbehave(provider.Commit5xx, provider.Commit5xx, provider.Commit5xx)
	step := w.call(refund(), unknown)
	for range 2 {
		w.call(refund(), "uncertain")
		w.restart()
		w.call(refund(), "uncertain")
	}
	w.counted("order-1", 1, 1)
	op := w.shown(step.Result.Operation.ID)
	if op.Attempt != 1 || op.Status != "uncertain" {
		w.Errorf("recorded as %s after %d attempts", op.Status, op.Attempt)
	}
	w.ops("resolve", op.ID, "--committed", "--remote-id", "ref_000001", "--reason", "seen at the provider")
	w.call(refund(), replay)
	w.counted("order-1", 1, 1)
}

func a15Agent(w *world, a agent) {
	w.misbehave(provider.Commit5xx, provider.Commit5xx, provider.Commit5xx)
	in := intent{tool: "pay.refund", subject: "order_id", op: "order-1"}
	for _, turn := range []string{"first", "resumed", "again"} {
		w.leftUnconfirmed(w.resume(a, in, turn))
		w.restart()
	}
	w.counted("order-1", 1, 1)
}
