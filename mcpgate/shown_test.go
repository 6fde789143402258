// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/deed-run/deed"
)

func TestAReceiptThatIsShownAsAnErrorIsNotTakenForDelivered(t *testing.T) {
	c, u, _, h := held(t, hints(nil), nil)
	u.offers(`{"name":"add","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}}`)
	c.list("0")
	c.send(addCall, 1, "")
	<-u.came
	u.refuse(`{"code":-32603,"message":"boom"}`)
	mustDecide(t, c.reply("1"), map[string]any{"status": "uncertain"})
	page, err := h.runtime.List(context.Background(), tester, deed.Query{})
	if err != nil || len(page.Operations) != 1 {
		t.Fatalf("%v, %v", page, err)
	}
	person := deed.Principal{Tenant: tester.Tenant, Actor: "ada", Rights: []deed.Right{deed.RightRead, deed.RightResolve}}
	if _, err := h.runtime.Resolve(context.Background(), person, page.Operations[0].ID, deed.Resolution{Outcome: deed.ResolveCommitted, RemoteIDs: []string{"T-1"}, Reason: "seen there"}); err != nil {
		t.Fatal(err)
	}

	again := c.call("2", "add", `{"n":1,"idempotency_key":"add:order-1042:first"}`)
	mustDecide(t, again, map[string]any{"decision": "replay", "reason": "result_discarded"})
	mustContain(t, again, `"isError":true`, "There is no saved result")
	// Under a fresh key, however often, it is the same action: nobody has been told in a way that counts.
	for i := range 2 {
		other := c.call(fmt.Sprint(3+i), "add", fmt.Sprintf(`{"n":1,"idempotency_key":"add:order-1042:again-%d"}`, i))
		mustDecide(t, other, map[string]any{"decision": "replay", "reason": "twin_undelivered"})
		mustContain(t, other, `"isError":true`, "There is no saved result")
	}
	if n := u.count("tools/call"); n != 1 {
		t.Errorf("the upstream received %d calls", n)
	}
}

func TestAStoredFailureSaysThatNothingWasSentNow(t *testing.T) {
	const failedResult = `{"isError":true,"content":[{"type":"text","text":"boom"}]}`
	for _, x := range []struct {
		name, fresh, again string
		end                func(u *heldUpstream)
	}{
		{"a refusal", "Not applied, for certain", "Nothing was sent now: this was refused at 2026-11-01T12:00:00Z", func(u *heldUpstream) {
			u.refuse(`{"code":-32602,"message":"Invalid arguments for tool add: n is too large"}`)
		}},
		{"a tool's error", "The tool reported an error", "Nothing was sent now: the tool reported this error at 2026-11-01T12:00:00Z", func(u *heldUpstream) { u.answer(failedResult) }},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, u, _, _ := held(t, hints(nil), nil)
			c.send(addCall, 1, "")
			<-u.came
			x.end(u)
			fresh := c.reply("1")
			mustContain(t, fresh, x.fresh)
			c.send(addCall, 2, "")
			again := c.reply("2")
			mustContain(t, again, x.again, `\"stored\":true`)
			if strings.Contains(fresh, "stored") || strings.Contains(fresh, "sent now") {
				t.Errorf("the fresh answer speaks of a stored one: %s", fresh)
			}
		})
	}
}

func TestALookIsAdvisedOnlyWithAToolThatMayShowTheEffect(t *testing.T) {
	read := func(names ...string) (tools []string) {
		for _, name := range names {
			tools = append(tools, `{"name":"`+name+`","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}`)
		}
		return append(tools, `{"name":"pay.charge","inputSchema":{"type":"object"}}`)
	}
	for _, x := range []struct {
		name  string
		tools []string
		want  string
	}{
		{"the only one that reads", read("ticket.search"), "ticket.search"},
		{"the only one with the same first word", read("ticket.search", "pay.get"), "pay.get"},
		{"none of several others", read("ticket.search", "mail.list"), ""},
		{"none of several near ones", read("pay.get", "pay.list", "mail.list"), ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, u, _, _ := held(t, hints(nil), nil)
			u.offers(x.tools...)
			c.list("0")
			c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay.charge","arguments":{"idempotency_key":"pay:order-1042:first"}}}`)
			<-u.came
			u.refuse(`{"code":-32603,"message":"boom"}`)
			line := c.reply("1")
			mustContain(t, line, "OUTCOME UNKNOWN")
			if has := strings.Contains(line, "You may look with"); has != (x.want != "") || has && !strings.Contains(line, "You may look with "+x.want+";") {
				t.Errorf("want %q in %s", x.want, line)
			}
		})
	}
}

func TestTheListOfOperationsSettlesNothingThatIsUncertain(t *testing.T) {
	c, u, _, _ := held(t, hints(nil), nil)
	c.send(addCall, 1, "")
	<-u.came
	u.refuse(`{"code":-32603,"message":"boom"}`)
	c.reply("1")
	line := c.call("2", "deed_operations", `{"status":"uncertain"}`)
	mustContain(t, line, `"status":"uncertain"`)
	if strings.Contains(line, "settled_at") {
		t.Errorf("an uncertain operation has a time of settlement: %s", line)
	}
}
