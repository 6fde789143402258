// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/outcome"
	"github.com/deed-run/deed/storetest"
)

var tester = deed.Principal{Tenant: "t", Actor: "agent", Rights: []deed.Right{deed.RightCall, deed.RightRead}}

// hints is a policy that takes readOnlyHint at its word and changes a rule where it is told to.
type hints func(rule *deed.Rule)

func (h hints) Rule(tool deed.Tool, facts deed.ToolFacts) deed.Rule {
	rule := deed.DefaultRule(tool)
	if facts.ReadOnlyHint != nil && *facts.ReadOnlyHint {
		rule.Effect = deed.EffectReadOnly
	}
	if h != nil {
		h(&rule)
	}
	return rule
}

// watchedStore counts the calls that are waiting for another one's outcome.
type watchedStore struct {
	deed.Store
	waiting atomic.Int32
}

func (s *watchedStore) Watch(ctx context.Context, tenant deed.Tenant, id deed.OperationID, version int64) (int64, error) {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	return s.Store.Watch(ctx, tenant, id, version)
}

// house is a Runtime with a Gate on it, over a store in memory.
type house struct {
	store   *watchedStore
	runtime *deed.Runtime
	gate    *mcpgate.Gate
}

func build(t *testing.T, clock deed.Clock, policy deed.Policy, edit func(*mcpgate.GateOptions)) house {
	t.Helper()
	if clock == nil {
		clock = deed.SystemClock{}
	}
	store := &watchedStore{Store: storetest.NewMemory(clock)}
	runtime, err := deed.New(deed.Options{Store: store, Policy: policy, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	options := mcpgate.GateOptions{
		Ledger: runtime, Policy: policy, Clock: clock, Log: func(string) {}, Pins: &mcpgate.Pins{Settings: store},
		Outcomes: func(deed.Tool) outcome.Rules {
			return outcome.Rules{Receipt: outcome.Pointers{System: "hostile", ID: "/structuredContent/id"}}
		},
	}
	if edit != nil {
		edit(&options)
	}
	gate, err := mcpgate.NewGate(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := gate.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := runtime.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return house{store, runtime, gate}
}

// guarded runs a guarded stdio gateway in front of the hostile upstream.
func guarded(t *testing.T, h house) (*lineClient, string) {
	t.Helper()
	command, log := hostile(t)
	return serve(t, mcpgate.Stdio{Name: "hostile", Upstream: command, Principal: tester, Guard: h.gate, Drain: 50 * time.Millisecond}), log
}

func (c *lineClient) call(id, tool, arguments string) string {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
	return c.reply(id)
}

// verdict reads _meta["deed/operation"] of a reply.
func verdict(t *testing.T, line string) map[string]any {
	t.Helper()
	var m struct {
		Result struct {
			Meta map[string]map[string]any `json:"_meta"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return m.Result.Meta["deed/operation"]
}

func mustDecide(t *testing.T, line string, want map[string]any) {
	t.Helper()
	got := verdict(t, line)
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %v, want %v, in %s", name, got[name], value, line)
		}
	}
}

const key1 = `"add:order-1042:first"`

func TestAGuardedCallHappensOnceAndIsReplayed(t *testing.T) {
	c, log := guarded(t, build(t, nil, hints(nil), nil))
	c.initialize()
	args := `{"n":9007199254740993,"idempotency_key":` + key1 + `}`
	first := c.call("1", "add", args)
	mustDecide(t, first, map[string]any{"decision": "execute", "status": "committed", "provenance": "model", "replayed": false})
	mustContain(t, first, `"structuredContent":{"id":"T-1","n":9007199254740993},"vendor":1.0`, `"remote_id":"T-1"`)

	second := c.call(`"two"`, "add", `{"idempotency_key":`+key1+`,"n":9007199254740993}`)
	mustDecide(t, second, map[string]any{"decision": "replay", "reason": "stored", "replayed": true, "status": "committed"})
	mustContain(t, second, `{"type":"text","text":"added"},{"type":"text","text":"Already done`, `"structuredContent":{"id":"T-1","n":9007199254740993},"vendor":1.0`)

	third := c.call("3", "add", `{"n":9007199254740992,"idempotency_key":`+key1+`}`)
	mustDecide(t, third, map[string]any{"decision": "conflict", "reason": "idempotency_key_reused_with_different_effect"})
	mustContain(t, third, `"isError":true`, "Do not rename the key", `\"existing_remote_id\":\"T-1\"`)

	calls := received(t, log, "tools/call")
	if len(calls) != 1 || !strings.Contains(calls[0], `"arguments":{"n":9007199254740993}`) {
		t.Errorf("the upstream received %q", calls)
	}
}

func TestALostAnswerIsUncertainAndNeverSentAgain(t *testing.T) {
	for _, tool := range []string{"exit", "half", "crash-error"} {
		t.Run(tool, func(t *testing.T) {
			c, log := guarded(t, build(t, nil, hints(nil), nil))
			c.initialize()
			args := `{"idempotency_key":` + key1 + `}`
			mustDecide(t, c.call("1", tool, args), map[string]any{"decision": "execute", "status": "uncertain", "reason": "outcome_unknown"})
			again := c.call("2", tool, args)
			mustDecide(t, again, map[string]any{"decision": "uncertain", "reason": "outcome_unknown"})
			mustContain(t, again, "OUTCOME UNKNOWN: do not repeat")
			mustDecide(t, c.call("3", tool, `{"idempotency_key":"another:key:for:it"}`), map[string]any{"decision": "uncertain", "reason": "twin_unresolved"})
			if calls := received(t, log, "tools/call"); len(calls) != 1 {
				t.Errorf("the upstream received %q", calls)
			}
			mustContain(t, c.call("4", "add", `{"n":1,"idempotency_key":"add:order-1:first"}`), "added")
		})
	}
}

func TestDenialsSendNothing(t *testing.T) {
	c, log := guarded(t, build(t, nil, hints(nil), nil))
	c.initialize()
	for _, x := range []struct{ name, params, reason, text string }{
		{"a missing key", `{"name":"add","arguments":{"n":1}}`, "missing_operation_key", "idempotency_key is missing"},
		{"a short key", `{"name":"add","arguments":{"n":1,"idempotency_key":"short"}}`, "bad_key", "5 of at least 16 characters"},
		{"an empty key", `{"name":"add","arguments":{"n":1,"idempotency_key":""}}`, "bad_key", "idempotency_key: it is empty: send one of at least 16 characters"},
		{"an empty key of a program", `{"name":"add","arguments":{"n":1,"idempotency_key":` + key1 + `},"_meta":{"deed/idempotency-key":""}}`, "bad_key", "or leave it out to send none"},
		{"arguments that the schema refuses", `{"name":"add","arguments":{"n":"x","idempotency_key":` + key1 + `}}`, "bad_arguments", "arguments were refused"},
		{"duplicate members", `{"name":"add","arguments":{"n":1,"n":2,"idempotency_key":` + key1 + `}}`, "bad_arguments", "arguments were refused"},
		{"a duplicate name", `{"name":"get","name":"add","arguments":{}}`, "bad_arguments", "arguments were refused"},
		{"a name that differs by case", `{"name":"get","Name":"add","arguments":{}}`, "bad_arguments", "looks like"},
		{"two keys that disagree", `{"name":"add","arguments":{"n":1},"idempotencyKey":"key-one-0123456789","_meta":{"deed/idempotency-key":"key-two-0123456789"}}`, "key_carriers_disagree", "two different keys"},
		{"a deadline that is no time", `{"name":"add","arguments":{"n":1,"idempotency_key":` + key1 + `},"_meta":{"deed/expires_at":1893456000}}`, "bad_arguments", "is no RFC 3339 time"},
		{"a fingerprint that is no text", `{"name":"add","arguments":{"n":1,"idempotency_key":` + key1 + `},"_meta":{"deed/effect_fingerprint":7}}`, "bad_arguments", "is no string"},
		{"arguments that are no object", `{"name":"add","arguments":[1],"idempotencyKey":"key-one-0123456789"}`, "bad_arguments", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			c.send(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":%s}`, x.params)
			line := c.reply("9")
			mustDecide(t, line, map[string]any{"decision": "denied", "reason": x.reason})
			mustContain(t, line, `"isError":true`, x.text)
		})
	}
	if calls := received(t, log, "tools/call"); len(calls) != 0 {
		t.Errorf("the upstream received %q", calls)
	}
}

// A number of sixteen digits is none either: written as 1e15 it would be another.
func TestAKeyThatIsNoTextIsToldByItsType(t *testing.T) {
	c, log := guarded(t, build(t, nil, hints(nil), nil))
	c.initialize()
	for value, kind := range map[string]string{
		"null": "null", "7": "a number", "1000000000000000": "a number", "-1e20": "a number", "true": "a boolean", "false": "a boolean",
		`{"key":"add:order-1:first"}`: "an object", `["add:order-1:first"]`: "an array",
	} {
		for name, params := range map[string]string{
			"idempotency_key": `"arguments":{"n":1,"idempotency_key":%s}`, "params.idempotencyKey": `"arguments":{"n":1},"idempotencyKey":%s`,
			"_meta.idempotencyKey": `"arguments":{"n":1},"_meta":{"idempotencyKey":%s}`, `_meta[\"deed/idempotency-key\"]`: `"arguments":{"n":1},"_meta":{"deed/idempotency-key":%s}`,
		} {
			c.send(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"add",`+params+`}}`, value)
			line := c.reply("9")
			mustDecide(t, line, map[string]any{"decision": "denied", "reason": "bad_key"})
			if kept := strings.NewReplacer("[", "", "]", "").Replace(name); !strings.Contains(line, kept+": it is "+kind+", where a string must stand") {
				t.Errorf("of %s as %s it says %s", value, name, line)
			}
		}
	}
	if calls := received(t, log, "tools/call"); len(calls) != 0 {
		t.Errorf("the upstream received %q", calls)
	}
}

func TestAReadPassesUntouched(t *testing.T) {
	c, log := guarded(t, build(t, nil, hints(nil), nil))
	c.initialize()
	for _, id := range []string{"1", "2"} {
		c.send(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"get","arguments":{"z":1.0,"a":2}}}`, id)
		if got, want := c.reply(id), `{"result":`+hostileResult+`,"id":`+id+`,"jsonrpc":"2.0"}`; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	c.call("3", "get", `{"z":1.0,"idempotency_key":"ignored"}`)
	calls := received(t, log, "tools/call")
	if len(calls) != 3 || !strings.Contains(calls[0], `"arguments":{"z":1.0,"a":2}`) || !strings.Contains(calls[2], `"arguments":{"z":1.0}}`) {
		t.Errorf("the upstream received %q", calls)
	}
}

func TestAToolListIsExtendedAndOtherwiseKept(t *testing.T) {
	c, _ := guarded(t, build(t, nil, hints(nil), nil))
	c.initialize()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	line := c.reply("1")
	mustContain(t, line,
		`"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"n":{"type":"integer"},"note":{"type":"string"},"idempotency_key":{`,
		`"required":["n","idempotency_key"],"x-vendor":9007199254740993}`,
		`"annotations":{"readOnlyHint":true,"unknownHint":1.0},"inputSchema":{"type":"object"},"_meta":{"deed/tool":{"effect":"read_only"`,
		`"description":"Adds.\n\nRuns at most once per idempotency_key.`, `"name":"deed_operations"`, `"extra":{"k":1.0}`)
	if n := strings.Count(line, "Runs at most once per"); n != 8 {
		t.Errorf("the sentence stands %d times", n)
	}
}

func TestTheInstructionsAreAddedOnce(t *testing.T) {
	c, _ := guarded(t, build(t, nil, hints(nil), nil))
	c.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{}}`)
	mustContain(t, c.reply(`"init"`), `"serverInfo":{"name":"hostile","version":"1","x":1.0},"_meta":{"k":1},"instructions":"Calls that change things are recorded.`)
}

func TestOperationsAreShownToTheirActor(t *testing.T) {
	c, _ := guarded(t, build(t, nil, hints(nil), nil))
	c.initialize()
	c.call("1", "add", `{"n":1,"note":"secret words","idempotency_key":`+key1+`}`)
	line := c.call("2", "deed_operations", `{"key":`+key1+`}`)
	mustContain(t, line, `"tool":"hostile/add"`, `"status":"committed"`, `"remote_id":"T-1"`)
	if strings.Contains(line, "secret words") {
		t.Error("stored arguments were shown")
	}
	mustContain(t, c.call("3", "deed_operations", `{"status":"uncertain"}`), `"operations":[]`)
	mustContain(t, c.call("4", "deed_operations", `{"operation_id":"op_nope"}`), `"operations":[]`)
}
