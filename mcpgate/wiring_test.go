// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
)

func wired(w mcpgate.Wiring) func(*mcpgate.GateOptions) {
	return func(o *mcpgate.GateOptions) { o.Wiring = func(deed.Tool) mcpgate.Wiring { return w } }
}

// params returns the params of the n-th call that reached a held upstream.
func (u *heldUpstream) params(t *testing.T, n int) string {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, m := range u.heard {
		if m.Method == "tools/call" {
			if n == 0 {
				return string(m.Params)
			}
			n--
		}
	}
	t.Fatal("no such call reached the upstream")
	return ""
}

const (
	createTool = `{"name":"create","inputSchema":{"type":"object","properties":{"title":{"type":"string"},"client_id":{"type":"string"}},"required":["title"]}}`
	getTool    = `{"name":"get","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}`
)

// creating is a policy for tools whose identity is that of what they create.
var creating = hints(func(r *deed.Rule) { r.Identity = deed.FamilyCreation })

func TestAToolsOwnClientIDNamesWhatItCreates(t *testing.T) {
	resource := &mcpgate.Resource{Tool: "held/get", Arguments: func(r deed.Receipt) ([]byte, error) {
		return json.Marshal(map[string]string{"id": r.RemoteID})
	}}
	c, u, _, h := held(t, creating, wired(mcpgate.Wiring{KeyArgument: "client_id", Resource: resource}))
	u.offers(createTool, getTool, `{"name":"create_any","inputSchema":{"type":"object","properties":{"client_id":{}}}}`)
	list := c.list("1")
	mustContain(t, list, "Runs at most once per client_id.")
	if strings.Contains(list, `"idempotency_key":{`) {
		t.Errorf("a second key was added: %s", list)
	}
	missing := c.call("2", "create", `{"title":"a"}`)
	mustDecide(t, missing, map[string]any{"decision": "denied", "reason": "missing_operation_key"})
	mustContain(t, missing, "client_id is missing")
	for value, kind := range map[string]string{"null": "null", "false": "a boolean", "{}": "an object", "[]": "an array"} {
		untyped := c.call("20", "create_any", `{"client_id":`+value+`}`)
		mustDecide(t, untyped, map[string]any{"decision": "denied", "reason": "bad_key"})
		mustContain(t, untyped, "client_id: it is "+kind+", where a string must stand")
	}

	const arguments = `{"title":"a","client_id":"3f1c8a52-0a5f-4a9b-9f52-7a1e8f5b9c11"}`
	first := answered(c, u, "3", `{"name":"create","arguments":`+arguments+`}`)
	mustDecide(t, first, map[string]any{"decision": "execute", "status": "committed", "key": "3f1c8a52-0a5f-4a9b-9f52-7a1e8f5b9c11"})
	mustContain(t, u.params(t, 0), `"arguments":`+arguments)
	page, err := h.runtime.List(t.Context(), tester, deed.Query{})
	if err != nil || page.Operations[0].Key.Family != deed.FamilyCreation {
		t.Errorf("%v, %v", page, err)
	}
	for _, x := range []struct{ answer, current, text string }{
		{doneResult, "found", "It still exists."},
		{`{"isError":true,"content":[{"type":"text","text":"T-1 was not found"}]}`, "gone", "It has been removed since."},
		{`{"isError":true,"content":[{"type":"text","text":"the search is down"}]}`, "unknown", "Whether it still exists is not known."},
	} {
		again := make(chan string, 1)
		c.send(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"create","arguments":%s}}`, arguments)
		go func() { again <- c.reply("4") }()
		<-u.came
		u.answer(x.answer)
		line := <-again
		mustDecide(t, line, map[string]any{"decision": "replay", "current": x.current})
		mustContain(t, line, x.text)
	}
	mustContain(t, u.params(t, 1), `{"name":"get","arguments":{"id":"T-9"}}`)
	mustDecide(t, c.call("5", "create", `{"title":"b","client_id":"3f1c8a52-0a5f-4a9b-9f52-7a1e8f5b9c11"}`), map[string]any{"decision": "conflict"})
}

func TestAnUnmappedClientIDIsAnArgumentLikeAnyOther(t *testing.T) {
	c, u, _, _ := held(t, hints(nil), nil)
	u.offers(createTool)
	mustContain(t, c.list("1"), `"idempotency_key":{`)
	mustDecide(t, c.call("2", "create", `{"title":"a","client_id":"3f1c8a52-0a5f-4a9b-9f52-7a1e8f5b9c11"}`), map[string]any{"decision": "denied", "reason": "missing_operation_key"})
}

func TestAConfidentialKeyIsSeenByNobody(t *testing.T) {
	const secret = "registration-0123456789-abcdefghijklmnop"
	var logged []string
	c, u, _, h := held(t, hints(func(r *deed.Rule) { r.Identity = deed.FamilySecret }), func(o *mcpgate.GateOptions) {
		o.Log = func(text string) { logged = append(logged, text) }
	})
	u.offers(`{"name":"add","inputSchema":{"type":"object"}}`)
	if list := c.list("1"); strings.Contains(list, `"add","inputSchema":{"type":"object","properties"`) || strings.Contains(list, "Runs at most once per") {
		t.Errorf("the schema speaks of a key: %s", list)
	}
	var seen []string
	call := func(id, params string) string {
		c.send(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":%s}`, id, params)
		seen = append(seen, c.reply(id))
		return seen[len(seen)-1]
	}
	for i, params := range []string{
		`{"name":"add","arguments":{"n":1},"idempotencyKey":"` + secret + `"}`,
		`{"name":"add","arguments":{"n":1,"idempotency_key":"` + secret + `"}}`,
		`{"name":"add","arguments":{"n":1},"_meta":{"deed/idempotency-key":"short"}}`,
	} {
		line := call(fmt.Sprint(2+i), params)
		if got := verdict(t, line)["decision"]; got != "denied" {
			t.Errorf("%s: %v", params, got)
		}
	}
	const params = `{"name":"add","arguments":{"n":1},"_meta":{"deed/idempotency-key":"` + secret + `","keep":1}}`
	seen = append(seen, answered(c, u, "7", params))
	mustDecide(t, seen[3], map[string]any{"decision": "execute", "status": "committed"})
	again := call("8", params)
	mustDecide(t, again, map[string]any{"decision": "replay", "reason": "result_discarded"})
	mustContain(t, u.params(t, 0), `"_meta":{"keep":1}`)
	page, err := h.runtime.List(t.Context(), tester, deed.Query{})
	if err != nil || len(page.Operations) != 1 {
		t.Fatalf("%v, %v", page, err)
	}
	stored, err := json.Marshal(page.Operations[0])
	if err != nil {
		t.Fatal(err)
	}
	seen = append(seen, call("9", `{"name":"deed_operations","arguments":{}}`), u.params(t, 0), string(stored), strings.Join(logged, "\n"), page.Operations[0].Key.Text)
	for _, text := range seen {
		if strings.Contains(text, secret) {
			t.Errorf("the key stands in %s", text)
		}
	}
	// It belongs to the principal that used it.
	other := serve(t, mcpgate.Stdio{Name: "held", Upstream: u, Principal: deed.Principal{Tenant: "t", Actor: "other", Rights: tester.Rights}, Guard: h.gate, Drain: time.Millisecond})
	other.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}`, params)
	line := other.reply("1")
	mustDecide(t, line, map[string]any{"decision": "denied", "reason": "not_yours"})
}

func TestAProviderKeyTravelsWhereItIsDeclared(t *testing.T) {
	policy := hints(func(r *deed.Rule) { r.ProviderKey = &deed.ProviderKeyRule{Retention: 24 * time.Hour} })
	c, u, _, h := held(t, policy, wired(mcpgate.Wiring{KeyMeta: "example.com/key", KeyHeader: "idempotency-key"}))
	c.send(addCall, 1, "")
	<-u.came
	u.mu.Lock()
	sent := u.calls[0]
	u.mu.Unlock()
	key := sent.Extra.Get("Idempotency-Key")
	if len(key) != 36 || key != sent.Grant.ProviderKey {
		t.Errorf("the header carries %q, the grant %q", key, sent.Grant.ProviderKey)
	}
	mustContain(t, string(sent.Message.Params), `"_meta":{"example.com/key":"`+key+`"}`)
	u.refuse(`{"code":-32603,"message":"boom"}`)
	mustDecide(t, c.reply("1"), map[string]any{"status": "uncertain"})
	// The same bytes go out under the same key, as a new attempt.
	c.send(addCall, 2, "")
	<-u.came
	u.mu.Lock()
	again := u.calls[0]
	u.mu.Unlock()
	if again.Extra.Get("Idempotency-Key") != key || string(again.Message.Params) != string(sent.Message.Params) {
		t.Errorf("the second attempt carries %v, %s", again.Extra, again.Message.Params)
	}
	u.answer(doneResult)
	mustDecide(t, c.reply("2"), map[string]any{"decision": "execute", "status": "committed", "attempt": 2.0})
	if got := h.status(t); got != deed.StatusCommitted {
		t.Errorf("the operation is %s", got)
	}
}

func TestMarksAreSentAndComparedWithNothing(t *testing.T) {
	plant := func(arguments []byte, marks deed.Marks) ([]byte, error) {
		return fmt.Appendf(nil, `%s,"op":%q}`, strings.TrimSuffix(string(arguments), "}"), marks.Marker), nil
	}
	c, u, _, _ := held(t, hints(func(r *deed.Rule) { r.Planting = &deed.Planting{Plant: plant} }), nil)
	first := answered(c, u, "1", `{"name":"add","arguments":{"n":1,"idempotency_key":"add:order-1042:first"}}`)
	mustDecide(t, first, map[string]any{"status": "committed"})
	var sent struct {
		Arguments struct {
			N  int    `json:"n"`
			Op string `json:"op"`
		} `json:"arguments"`
	}
	if err := json.Unmarshal([]byte(u.params(t, 0)), &sent); err != nil || sent.Arguments.N != 1 || len(sent.Arguments.Op) != 26 {
		t.Errorf("%+v, %v", sent, err)
	}
	mustDecide(t, c.call("2", "add", `{"n":1,"idempotency_key":"add:order-1042:first"}`), map[string]any{"decision": "replay"})
	mustDecide(t, c.call("3", "add", `{"n":2,"idempotency_key":"add:order-1042:first"}`), map[string]any{"decision": "conflict"})
	// The schema is that of the upstream and speaks of what the caller sent.
	mustDecide(t, c.call("4", "add", `{"n":"x","idempotency_key":"add:order-1043:first"}`), map[string]any{"decision": "denied", "reason": "bad_arguments"})
}

func TestAnotherRevisionIsNotSent(t *testing.T) {
	draft := &draftBox{revision: "1"}
	wiring := mcpgate.Wiring{Revision: &mcpgate.Revision{
		Tool:      "mail/mail_get",
		Arguments: func(arguments []byte) ([]byte, error) { return arguments, nil },
		Value: func(result []byte) (string, error) {
			var r struct {
				Structured struct{ Revision string } `json:"structuredContent"`
			}
			if err := json.Unmarshal(result, &r); err != nil || r.Structured.Revision == "" {
				return "", errors.New("the draft has no revision")
			}
			return r.Structured.Revision, nil
		},
	}}
	h := build(t, nil, hints(func(r *deed.Rule) {
		if r.Mutates() {
			r.Approval = &deed.ApprovalRule{OnCall: true}
		}
	}), wired(wiring))
	c := serve(t, mcpgate.Stdio{Name: "mail", Upstream: mcpgate.LocalUpstream{Tools: draft}, Principal: tester, Guard: h.gate})
	c.initialize()
	mustDecide(t, c.call("1", "mail_send", mailArguments), map[string]any{"decision": "awaiting_approval"})
	h.approve(t)
	draft.set("2")
	changed := c.call("2", "mail_send", mailArguments)
	mustDecide(t, changed, map[string]any{"decision": "denied", "reason": "revision_changed", "status": "authorized"})
	mustContain(t, changed, "has changed meanwhile", "Read it anew and tell the user")
	draft.set("1")
	mustDecide(t, c.call("3", "mail_send", mailArguments), map[string]any{"decision": "execute", "status": "committed"})
	draft.set("")
	mustDecide(t, c.call("4", "mail_send", mailArguments), map[string]any{"decision": "replay"})
	mustDecide(t, c.call("5", "mail_send", `{"to":"bob@example.org","idempotency_key":"mail:order-1043:first"}`), map[string]any{"decision": "denied", "reason": "revision_changed"})
	if draft.sent != 1 {
		t.Errorf("%d were sent", draft.sent)
	}
}

// draftBox is a Local whose draft has a revision.
type draftBox struct {
	mu       sync.Mutex
	revision string
	sent     int
}

func (d *draftBox) set(revision string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.revision = revision
}

func (d *draftBox) Tools(context.Context) ([]byte, error) { return []byte(mailTools), nil }

func (d *draftBox) Call(_ context.Context, tool string, _ *deed.Grant, _ []byte) deed.Outcome {
	d.mu.Lock()
	defer d.mu.Unlock()
	if tool == "mail_send" {
		d.sent++
	}
	return deed.Outcome{Kind: deed.OutcomeSuccess, Result: fmt.Appendf(nil, `{"content":[],"structuredContent":{"revision":%q}}`, d.revision)}
}
