// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
)

// offers makes a held upstream list these tools.
func (u *heldUpstream) offers(tools ...string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.results == nil {
		u.results = map[string]string{}
	}
	u.results["tools/list"] = `{"tools":[` + strings.Join(tools, ",") + `]}`
}

func (c *lineClient) list(id string) string {
	c.send(`{"jsonrpc":"2.0","id":%s,"method":"tools/list"}`, id)
	return c.reply(id)
}

// answered sends a call and answers it when it reaches the upstream.
func answered(c *lineClient, u *heldUpstream, id, params string) string {
	c.send(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":%s}`, id, params)
	<-u.came
	u.answer(doneResult)
	return c.reply(id)
}

func TestAChangedDefinitionQuarantinesATool(t *testing.T) {
	const tool, changed = `{"name":"add","description":"Adds.","inputSchema":{"type":"object"}}`, `{"name":"add","description":"Adds.","inputSchema":{"type":"object","properties":{"to":{}}}}`
	const reordered = `{"inputSchema":{ "type":"object" },"description":"Adds more.","name":"add"}`
	const read, unread = `{"name":"get","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}`, `{"name":"get","annotations":{"readOnlyHint":true,"openWorldHint":false},"inputSchema":{"type":"object"}}`
	var logged []string
	c, u, _, h := held(t, hints(nil), func(o *mcpgate.GateOptions) { o.Log = func(text string) { logged = append(logged, text) } })
	u.offers(tool, read)
	c.list("1")
	u.offers(reordered, read)
	c.list("2")
	if text := strings.Join(logged, "\n"); !strings.Contains(text, "its description changed") || strings.Contains(text, "definition changed") {
		t.Errorf("another order and text were logged as %q", text)
	}
	mustDecide(t, answered(c, u, "3", `{"name":"add","arguments":{"idempotency_key":"add:order-1:first"}}`), map[string]any{"status": "committed"})

	u.offers(changed, unread)
	c.list("4")
	// Other arguments, so that it is no twin of the first, whose delivery may not be recorded yet.
	c.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"add","arguments":{"idempotency_key":"add:order-5:first","to":"5"}}}`)
	mustDecide(t, c.reply("5"), map[string]any{"decision": "denied", "reason": "quarantined"})
	c.send(`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"get"}}`)
	mustDecide(t, c.reply("6"), map[string]any{"decision": "denied", "reason": "quarantined"})
	if n := u.count("tools/call"); n != 1 {
		t.Errorf("the upstream received %d calls", n)
	}
	// Another process accepts it: this one notices with the next call.
	accepting := &mcpgate.Pins{Settings: h.store}
	if changed, err := accepting.Accept(context.Background(), "held/add"); !changed || err != nil {
		t.Fatalf("accept: %v, %v", changed, err)
	}
	mustDecide(t, answered(c, u, "7", `{"name":"add","arguments":{"idempotency_key":"add:order-7:first"}}`), map[string]any{"status": "committed"})
	mustContain(t, strings.Join(logged, "\n"), "deed tools accept held/add")
}

func TestACallWithoutAnIDIsNotSent(t *testing.T) {
	var mu sync.Mutex
	var logged strings.Builder
	c, u, _, _ := held(t, hints(nil), func(o *mcpgate.GateOptions) {
		o.Log = func(text string) { mu.Lock(); defer mu.Unlock(); logged.WriteString(text + "\n") }
	})
	u.offers(`{"name":"add","inputSchema":{"type":"object"}}`, `{"name":"get","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}`)
	c.list("1")
	for _, tool := range []string{"add", "get"} {
		c.send(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":%q,"arguments":{"idempotency_key":"add:order-1:first"}}}`, tool)
		until(t, "the call of "+tool+" is told to a person", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return strings.Contains(logged.String(), "tools/call of held/"+tool+" without an id: nobody could be told what came of it; nothing was sent")
		})
	}
	mustDecide(t, answered(c, u, "2", `{"name":"add","arguments":{"idempotency_key":"add:order-2:first"}}`), map[string]any{"status": "committed"})
	if n := u.count("tools/call"); n != 1 {
		t.Errorf("the upstream received %d calls", n)
	}
}

func TestAToolThatStopsReadingIsNoticedWithItsNextCall(t *testing.T) {
	c, u, _, _ := held(t, hints(nil), nil)
	u.offers(`{"name":"get","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}`)
	c.list("1")
	answered(c, u, "2", `{"name":"get"}`)
	u.offers(`{"name":"get","annotations":{"readOnlyHint":false},"inputSchema":{"type":"object"}}`)
	u.sink(mcpgate.Event{Message: mcpgate.RequestMessage(nil, "notifications/tools/list_changed", nil)})
	mustContain(t, c.next(), "list_changed")
	c.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get"}}`)
	mustDecide(t, c.reply("3"), map[string]any{"decision": "denied", "reason": "missing_operation_key"})
}

func TestCarriersOfKeys(t *testing.T) {
	for _, x := range []struct {
		name, params string
		provenance   string
		sent         string
		rule         func(*deed.Rule)
	}{
		{name: "_meta of deed", params: `{"name":"add","arguments":{"n":1},"_meta":{"deed/idempotency-key":"add:order-1042:first","x":1.0,"deed/run":"r"}}`, provenance: "runtime", sent: `"params":{"name":"add","arguments":{"n":1},"_meta":{"x":1.0}}`},
		{name: "a field of params", params: `{"name":"add","idempotencyKey":"add:order-1042:first","arguments":{"n":1},"vendor":1.0}`, provenance: "runtime", sent: `"params":{"name":"add","arguments":{"n":1},"vendor":1.0}`},
		{name: "a stable call id with the session", params: `{"name":"add","arguments":{"n":1},"_meta":{"claudecode/toolUseId":"toolu_1"}}`, provenance: "call_id", sent: `"_meta":{"claudecode/toolUseId":"toolu_1"}`},
		{name: "the argument", params: `{"name":"add","arguments":{"n":1,"idempotency_key":"add:order-1042:first"}}`, provenance: "model", sent: `"params":{"name":"add","arguments":{"n":1}}`},
		{name: "the argument beside a runtime key", params: `{"name":"add","arguments":{"n":1,"idempotency_key":"what:the:model:says"},"idempotencyKey":"add:order-1042:first"}`, provenance: "runtime", sent: `"params":{"name":"add","arguments":{"n":1}}`},
		{name: "an optional key", params: `{"name":"add","arguments":{"n":1}}`, provenance: "none", sent: `"params":{"name":"add","arguments":{"n":1}}`, rule: func(r *deed.Rule) { r.Key.Need = deed.NeedOptional }},
		{name: "a derived key", params: `{"name":"add","arguments":{"n":1},"_meta":{"run":"r-1"}}`, provenance: "derived", sent: `"_meta":{"run":"r-1"}`, rule: func(r *deed.Rule) { r.Key.From = []string{"meta.run", "/n"} }},
		{name: "the tool's own argument", params: `{"name":"own","arguments":{"idempotency_key":"own:order-1042:first"}}`, provenance: "model", sent: `"arguments":{"idempotency_key":"own:order-1042:first"}`},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, u, _, _ := held(t, hints(x.rule), nil)
			u.offers(`{"name":"add","inputSchema":{"type":"object","properties":{"n":{}}}}`, `{"name":"own","inputSchema":{"type":"object","properties":{"idempotency_key":{"type":"string"}}}}`)
			first := answered(c, u, "1", x.params)
			mustDecide(t, first, map[string]any{"decision": "execute", "status": "committed", "provenance": x.provenance})
			u.mu.Lock()
			for _, m := range u.heard {
				if m.Method == "tools/call" {
					mustContain(t, string(m.Raw), x.sent)
				}
			}
			u.mu.Unlock()
			if x.provenance != "none" {
				c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":%s}`, x.params)
				mustDecide(t, c.reply("2"), map[string]any{"decision": "replay"})
			}
		})
	}
}

// Null and its like stand in every call of such a client: they tell none apart.
func TestACallIDThatIsNeitherTextNorNumberIsNoKey(t *testing.T) {
	c, log := guarded(t, build(t, nil, hints(nil), nil))
	c.initialize()
	call := func(id, value string) string {
		c.send(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"add","arguments":{"n":1},"_meta":{"claudecode/toolUseId":%s}}}`, id, value)
		return c.reply(id)
	}
	for i, value := range []string{"null", "true", `{"id":"toolu_1"}`, `["toolu_1"]`, `""`} {
		mustDecide(t, call(fmt.Sprint(i), value), map[string]any{"decision": "denied", "reason": "missing_operation_key"})
	}
	mustDecide(t, call("9", "4711"), map[string]any{"decision": "execute", "provenance": "call_id"})
	if calls := received(t, log, "tools/call"); len(calls) != 1 {
		t.Errorf("the upstream received %q", calls)
	}
}

func TestACallIDWithoutASessionIsNoKey(t *testing.T) {
	h := build(t, nil, hints(nil), nil)
	u := newHeld()
	url := serveHTTP(t, mcpgate.HTTPOptions{Upstreams: map[string]mcpgate.Upstream{"held": u}, Local: tester, Guard: h.gate}) + "/mcp/held"
	call := func(session string) response {
		meta := fmt.Sprintf(`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","claudecode/toolUseId":"toolu_1"%s}`, session)
		return post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"n":1},"_meta":`+meta+`}}`,
			"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "add")
	}
	got := call("")
	mustDecide(t, got.body, map[string]any{"decision": "denied", "reason": "missing_operation_key"})
	mustContain(t, got.body, `"resultType":"complete"`)
	go func() {
		<-u.came
		u.answer(doneResult)
	}()
	mustDecide(t, call(`,"deed/session":"s-1"`).body, map[string]any{"decision": "execute", "provenance": "call_id"})
	mustDecide(t, call(`,"deed/session":"s-1"`).body, map[string]any{"decision": "replay"})
}

func TestARuntimeKeyLeavesTheSchemaAlone(t *testing.T) {
	c, u, _, _ := held(t, hints(func(r *deed.Rule) { r.Key.Need = deed.NeedRuntime }), nil)
	const tool = `{"name":"add","inputSchema":{"type":"object"}`
	u.offers(tool + `}`)
	mustContain(t, c.list("1"), tool+`,"_meta":{"deed/tool":{"effect":"non_idempotent","key":"runtime"`)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{}}}`)
	line := c.reply("2")
	mustDecide(t, line, map[string]any{"decision": "denied", "reason": "missing_operation_key"})
	if strings.Contains(line, "idempotency_key is missing") {
		t.Error("the model is told to add a key that it cannot add")
	}
}

func TestObserveModeOnlyWatches(t *testing.T) {
	c, u, _, _ := held(t, hints(func(r *deed.Rule) { r.Mode = deed.ModeObserve }), nil)
	line := answered(c, u, "1", `{"name":"add","arguments":{"n":1}}`)
	mustContain(t, line, `"structuredContent":{"id":"T-9"}`)
	mustDecide(t, line, map[string]any{"decision": "execute", "would_be": "denied"})
}

// What the upstream says is what the client hears, also where a record makes a doubt of it.
func TestObserveModePassesErrorsOn(t *testing.T) {
	for name, c := range map[string]struct {
		deny bool
		says string
		want string
	}{
		"an error result":            {false, `{"content":[{"type":"text","text":"ZD-17 is locked"}],"isError":true}`, `[{"type":"text","text":"ZD-17 is locked"}]`},
		"that of what would not run": {true, `{"content":[{"type":"text","text":"ZD-17 is locked"}],"isError":true}`, `[{"type":"text","text":"ZD-17 is locked"}]`},
		"an error":                   {false, "", `"error":{"code":-32603,"message":"out of memory"}`},
	} {
		t.Run(name, func(t *testing.T) {
			b, u, _, h := held(t, hints(func(r *deed.Rule) {
				r.Mode = deed.ModeObserve
				if c.deny {
					r.Deny = func([]byte, deed.Principal) string { return "not today" }
				}
			}), nil)
			b.send(addCall, 1, "")
			<-u.came
			if c.says != "" {
				u.answer(c.says)
			} else {
				u.refuse(`{"code":-32603,"message":"out of memory"}`)
			}
			mustContain(t, b.reply("1"), c.want)
			if op := h.newest(t); op.Status != deed.StatusUncertain {
				t.Errorf("the record is %s", op.Status)
			}
		})
	}
}

func TestALongDescriptionGetsTheSentenceFirst(t *testing.T) {
	c, u, _, _ := held(t, hints(nil), nil)
	u.offers(`{"name":"add","description":"` + strings.Repeat("long ", 400) + `","inputSchema":{"type":"object"}}`)
	mustContain(t, c.list("1"), `"description":"Runs at most once per idempotency_key.`)
}

func TestAnOwnOperationsToolWins(t *testing.T) {
	c, u, _, _ := held(t, hints(nil), nil)
	u.offers(`{"name":"deed_operations","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}`)
	if line := c.list("1"); strings.Count(line, "deed_operations") != 1 {
		t.Errorf("got %s", line)
	}
	mustContain(t, answered(c, u, "2", `{"name":"deed_operations"}`), `"T-9"`)
}

func TestSchemasThatLieHinderNobody(t *testing.T) {
	for name, schema := range map[string]string{
		"a reference to elsewhere":       `{"type":"object","properties":{"n":{"$ref":"https://evil.example/schema.json"}}}`,
		"a pattern of another dialect":   `{"type":"object","properties":{"n":{"type":"string","pattern":"^(?!x)y(?<=z)"}}}`,
		"a schema that is none":          `{"type":7}`,
		"a reference that goes nowhere":  `{"type":"object","properties":{"n":{"$ref":"#/$defs/none"}}}`,
		"a number that fits no float":    `{"type":"object","properties":{"n":{"maximum":1e400}}}`,
		"an x-mcp-header that is broken": `{"type":"object","properties":{"n":{"x-mcp-header":7}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			c, u, _, _ := held(t, hints(nil), nil)
			u.offers(`{"name":"add","inputSchema":` + schema + `}`)
			mustContain(t, c.list("1"), `"name":"add"`)
			mustDecide(t, answered(c, u, "2", `{"name":"add","arguments":{"n":"y","idempotency_key":"add:order-1042:first"}}`), map[string]any{"status": "committed"})
		})
	}
}

func TestAnswersInsideAnAttemptNeedItsLease(t *testing.T) {
	c, u, clock, _ := held(t, hints(nil), nil)
	c.send(addCall, 1, "")
	<-u.came
	c.send(`{"jsonrpc":"2.0","id":"server-1","result":{"action":"accept"}}`)
	until(t, "the answer", func() bool { return u.replies() == 1 })
	clock.Advance(10 * 60 * 1e9) // the lease is long over when the next answer comes
	c.send(`{"jsonrpc":"2.0","id":"server-2","result":{"action":"accept"}}`)
	c.list("2")
	if n := u.replies(); n != 1 {
		t.Errorf("%d answers were passed on", n)
	}
}

func (u *heldUpstream) replies() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := 0
	for _, m := range u.heard {
		if m.IsReply() {
			n++
		}
	}
	return n
}

func TestMirroredHeadersFollowWhatIsSent(t *testing.T) {
	h := build(t, nil, hints(nil), nil)
	u := newHeld()
	u.offers(`{"name":"add","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}`)
	url := serveHTTP(t, mcpgate.HTTPOptions{Upstreams: map[string]mcpgate.Upstream{"held": u}, Local: tester, Guard: h.gate}) + "/mcp/held"
	call := func(header string) response {
		return post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"region":"süd","idempotency_key":"add:order-1042:first"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
			"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "add", "Mcp-Param-Region", header)
	}
	if got := call("north"); got.status != http.StatusBadRequest || !strings.Contains(got.body, "-32020") {
		t.Errorf("a header that differs from the body got %+v", got)
	}
	sent := make(chan http.Header, 1)
	go func() {
		<-u.came
		u.mu.Lock()
		sent <- u.calls[0].Header
		u.mu.Unlock()
		u.answer(doneResult)
	}()
	if got := call("=?base64?c8O8ZA==?="); got.status != http.StatusOK {
		t.Errorf("got %+v", got)
	}
	if got := (<-sent).Get("Mcp-Param-Region"); got != "=?base64?c8O8ZA==?=" {
		t.Errorf("sent %q", got)
	}
}
