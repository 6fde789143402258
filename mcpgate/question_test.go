// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
)

const question = `{"resultType":"input_required","inputRequests":{"ok":{"method":"elicitation/create","params":{}}},"requestState":"s-1"}`

func TestAQuestionAndItsAnswerAreOneOperation(t *testing.T) {
	for name, x := range map[string]struct {
		need deed.Need
		key  string
	}{
		"with a key":    {deed.NeedRequired, `,"idempotencyKey":"add:order-1042:first"`},
		"without a key": {deed.NeedOptional, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, u, _, h := held(t, hints(func(r *deed.Rule) { r.Key.Need = x.need }), nil)
			call := func(id, more string) {
				c.send(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"add","arguments":{"n":1}%s%s}}`, id, x.key, more)
			}
			call("1", "")
			<-u.came
			u.answer(question)
			first := c.reply("1")
			mustDecide(t, first, map[string]any{"decision": "execute", "status": "awaiting_input"})
			mustContain(t, first, question[:len(question)-1])

			call("2", `,"inputResponses":{"ok":{"action":"accept"}},"requestState":"s-1"`)
			<-u.came
			u.mu.Lock()
			sent := string(u.calls[0].Message.Raw)
			u.mu.Unlock()
			mustContain(t, sent, `"inputResponses":{"ok":{"action":"accept"}},"requestState":"s-1"`)
			u.answer(doneResult)
			mustDecide(t, c.reply("2"), map[string]any{"decision": "execute", "status": "committed", "attempt": 2.0})

			call("3", `,"inputResponses":{"ok":{"action":"accept"}},"requestState":"s-1"`)
			mustDecide(t, c.reply("3"), map[string]any{"decision": "replay"})
			call("4", `,"inputResponses":{"ok":{"action":"decline"}},"requestState":"s-1"`)
			if fourth := c.reply("4"); x.key != "" {
				mustDecide(t, fourth, map[string]any{"decision": "conflict", "reason": "input_differs"})
			} else {
				mustContain(t, fourth, "no question that is open")
			}
			if n := u.count("tools/call"); n != 2 || h.status(t) != deed.StatusCommitted {
				t.Errorf("the upstream received %d calls", n)
			}
		})
	}
}

func TestAnAnswerThatFitsNoQuestionLeavesTheOneThatWaitsOpen(t *testing.T) {
	c, u, _, h := held(t, hints(nil), nil)
	call := func(id, more string) {
		c.send(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"add","arguments":{"n":1},"idempotencyKey":"add:order-1042:first"%s}}`, id, more)
	}
	call("1", "")
	<-u.came
	u.answer(question)
	c.reply("1")

	call("2", `,"inputResponses":{"ok":{"action":"accept"}},"requestState":"forged"`)
	second := c.reply("2")
	mustDecide(t, second, map[string]any{"decision": "conflict", "reason": "input_differs", "status": "awaiting_input"})
	mustContain(t, second, "still waits for its first answer", `\"next\":\"answer_question\"`)
	if strings.Contains(second, "answered before") || strings.Contains(second, "answered otherwise") {
		t.Errorf("nobody has answered it yet, and it says %s", second)
	}
	if n := u.count("tools/call"); n != 1 || h.status(t) != deed.StatusAwaitingInput {
		t.Errorf("the upstream received %d calls", n)
	}
}

func TestAnAnswerToNoQuestionIsRefused(t *testing.T) {
	c, u, _, _ := held(t, hints(func(r *deed.Rule) { r.Key.Need = deed.NeedOptional }), nil)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"n":1},"inputResponses":{},"requestState":"forged"}}`)
	mustContain(t, c.reply("1"), `"code":-32602`, "no question that is open")
	if n := u.count("tools/call"); n != 0 {
		t.Errorf("the upstream received %d calls", n)
	}
}

func TestATaskIsFollowedToItsEnd(t *testing.T) {
	c, u, clock, h := held(t, hints(nil), nil)
	c.send(addCall, 1, "")
	<-u.came
	u.results = map[string]string{
		"tasks/get":    `{"taskId":"task-1","status":"completed"}`,
		"tasks/result": doneResult,
	}
	u.answer(`{"task":{"taskId":"task-1","status":"working","pollInterval":1000}}`)
	mustContain(t, c.reply("1"), `"taskId":"task-1"`, `"status":"executing"`)
	c.send(addCall, 2, "")
	for range 20 {
		clock.Advance(1e9)
	}
	until(t, "the commit", func() bool {
		clock.Advance(1e9)
		return h.status(t) == deed.StatusCommitted
	})
	mustContain(t, c.reply("2"), `"T-9"`)
	if n := u.count("tools/call"); n != 1 {
		t.Errorf("the upstream received %d calls", n)
	}
}

func TestAnswersWithoutAnyQuestionAreACallLikeAnyOther(t *testing.T) {
	c, u, _, _ := held(t, hints(func(r *deed.Rule) { r.Key.Need = deed.NeedOptional }), nil)
	const answers = `{"name":"add","arguments":{"n":1},"inputResponses":{"wrong":{}}}`
	mustDecide(t, answered(c, u, "1", answers), map[string]any{"decision": "execute", "status": "committed", "attempt": 1.0})
	// It is held by an unresolved equal one, as any other is.
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"n":2}}}`)
	<-u.came
	u.refuse(`{"code":-32603,"message":"boom"}`)
	mustDecide(t, c.reply("2"), map[string]any{"status": "uncertain"})
	c.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add","arguments":{"n":2},"inputResponses":{"wrong":{}}}}`)
	mustDecide(t, c.reply("3"), map[string]any{"decision": "uncertain", "reason": "twin_unresolved"})
	if n := u.count("tools/call"); n != 2 {
		t.Errorf("the upstream received %d calls", n)
	}
}

func TestAnswersThatLeaveOutWhatWasAskedAreAskedForAgain(t *testing.T) {
	c, u, _, h := held(t, hints(func(r *deed.Rule) { r.Key.Need = deed.NeedOptional }), nil)
	call := func(id, more string) {
		c.send(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"add","arguments":{"n":1}%s}}`, id, more)
	}
	call("1", "")
	<-u.came
	u.answer(question)
	c.reply("1")
	call("2", `,"inputResponses":{"wrong":{}},"requestState":"s-1"`)
	if got, want := c.reply("2"), `{"jsonrpc":"2.0","id":2,"result":`+question+`}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if n := u.count("tools/call"); n != 1 || h.status(t) != deed.StatusAwaitingInput {
		t.Errorf("the upstream received %d calls", n)
	}
	call("3", `,"inputResponses":{"ok":{"action":"accept"}},"requestState":"s-1"`)
	<-u.came
	u.answer(doneResult)
	mustDecide(t, c.reply("3"), map[string]any{"decision": "execute", "status": "committed", "attempt": 2.0})
}

func TestAToolThatOnlyTheConfigurationNamesIsRefusedInTheUpstreamsWords(t *testing.T) {
	named := func(o *mcpgate.GateOptions) {
		o.Wiring = func(deed.Tool) mcpgate.Wiring { return mcpgate.Wiring{Named: true} }
	}
	c, u, _, h := held(t, hints(func(r *deed.Rule) { r.Key.Need = deed.NeedOptional }), named)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope","arguments":{}}}`)
	<-u.came
	u.refuse(`{"code":-32602,"message":"Unknown tool: nope","data":1.0}`)
	if got, want := c.reply("1"), `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: nope","data":1.0}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := h.status(t); got != deed.StatusFailed {
		t.Errorf("the operation is %s", got)
	}
}
