// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
)

const (
	oneTool  = `{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}`
	twoTools = `{"tools":[{"name":"add","inputSchema":{"type":"object"}},{"name":"refund","inputSchema":{"type":"object"}}]}`
	refund   = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"refund","arguments":{"n":1,"idempotency_key":"refund:order-1042:first"}}}`
)

func TestAToolThatNobodyListsOrNamesBeginsNothing(t *testing.T) {
	c, u, clock, h := held(t, hints(nil), nil)
	u.results = map[string]string{"tools/list": oneTool}
	c.send(refund, 1)
	mustContain(t, c.reply("1"), `"error":{"code":-32602,"message":"tools/call: unknown tool: the server lists no refund, and deed.yaml does not name it`, "nothing was sent")
	if n := u.count("tools/call"); n != 0 {
		t.Errorf("the upstream received %d calls", n)
	}
	page, err := h.runtime.List(t.Context(), tester, deed.Query{Tenant: tester.Tenant})
	if err != nil || len(page.Operations) != 0 {
		t.Errorf("%d operations are recorded, %v", len(page.Operations), err)
	}

	// It is listed now: the same key begins.
	u.mu.Lock()
	u.results["tools/list"] = twoTools
	u.mu.Unlock()
	clock.Advance(11 * time.Second)
	c.send(refund, 2)
	<-u.came
	u.answer(doneResult)
	mustDecide(t, c.reply("2"), map[string]any{"decision": "execute", "status": "committed"})
}

func TestWhatAToolDidBeforeItLeftTheListIsAnsweredAsEver(t *testing.T) {
	c, u, clock, h := held(t, hints(nil), nil)
	u.results = map[string]string{"tools/list": twoTools}
	c.send(refund, 1)
	<-u.came
	u.answer(doneResult)
	mustDecide(t, c.reply("1"), map[string]any{"decision": "execute", "status": "committed"})

	// Another process of the gateway, on the same ledger, never saw the tool.
	other, err := mcpgate.NewGate(mcpgate.GateOptions{Ledger: h.runtime, Policy: hints(nil), Clock: clock, Log: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	later := newHeld()
	later.results = map[string]string{"tools/list": oneTool}
	again := serve(t, mcpgate.Stdio{Name: "held", Upstream: later, Principal: tester, Guard: other, Drain: time.Millisecond})
	again.send(refund, 2)
	mustDecide(t, again.reply("2"), map[string]any{"decision": "replay", "status": "committed"})
	if n := later.count("tools/call"); n != 0 {
		t.Errorf("the upstream received %d calls", n)
	}
}

func TestAServerThatListsNoToolsSaysItselfWhatItHas(t *testing.T) {
	c, u, _, _ := held(t, hints(nil), nil)
	u.results = map[string]string{"tools/list": `{"tools":[]}`}
	c.send(refund, 1)
	<-u.came
	u.answer(doneResult)
	mustDecide(t, c.reply("1"), map[string]any{"decision": "execute", "status": "committed"})
}
