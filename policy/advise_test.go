// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

func TestAdviceForListedTools(t *testing.T) {
	config := parse(t, `
upstreams: {a: {command: [x]}}
defaults: {unknown_tool: infer}
tools:
  a/complete: {effect: idempotent, key: {from: [meta.run, /order_id]}, matter: [/order_id], receipt: {id: /structuredContent/id}, is_error: failed}
  a/wrong_part: {effect: non_idempotent, key: {from: [meta.run, /oder_id]}, is_error: failed, matter: [/x], receipt: {id: /id}}
  a/watched: {mode: observe, key: optional}
  a/delete_read: {effect: read_only}
  a/destructive_read: {effect: read_only}
  a/runtime: {effect: non_idempotent, key: runtime}
  a/creat_ticket: {effect: non_idempotent}
  a/keyed: {effect: non_idempotent, key: runtime, provider_key: {meta: key, retention: 24h}}
  a/unkeyed: {effect: non_idempotent, key: runtime, provider_key: {header: Idempotency-Key, retention: 24h}}
  a/found: {effect: non_idempotent, key: runtime, marker: {into: /op}, reconcile: {tool: a/find, args: {q: "{marker}"}, found: "result.l.filter(i, i.op == marker)"}}
`)
	tools := []policy.ListedTool{
		{Tool: "a/create_ticket", Arguments: []string{"title", "customer_id"}},
		{Tool: "a/put_label", Facts: pinned(deed.ToolFacts{IdempotentHint: hint(true)}), Arguments: []string{"label"}},
		{Tool: "a/get_ticket"},
		{Tool: "a/get_cleared", Facts: pinned(deed.ToolFacts{DestructiveHint: hint(true)})},
		{Tool: "a/tree", Facts: pinned(deed.ToolFacts{ReadOnlyHint: hint(true)})},
		{Tool: "a/make_report", Facts: pinned(deed.ToolFacts{ReadOnlyHint: hint(true)})},
		{Tool: "a/complete", Arguments: []string{"order_id"}},
		{Tool: "a/wrong_part", Arguments: []string{"order_id"}},
		{Tool: "a/watched"},
		{Tool: "a/delete_read"},
		{Tool: "a/destructive_read", Facts: pinned(deed.ToolFacts{DestructiveHint: hint(true)})},
		{Tool: "a/runtime"},
		{Tool: "a/keyed"},
		{Tool: "a/unkeyed"},
		{Tool: "a/found"},
	}
	golden(t, "advice.json", indented(t, policy.Advise(config, tools)))
}

func TestAdviceForAnUnknownToolThatIsDenied(t *testing.T) {
	config := parse(t, "upstreams: {a: {command: [x]}}\ndefaults: {unknown_tool: deny}\n")
	advice := policy.Advise(config, []policy.ListedTool{{Tool: "a/other"}})
	if len(advice) != 1 || advice[0].Guarantee != policy.GuaranteeRefused {
		t.Errorf("advice: %+v", advice)
	}
}

func TestWhatADescriptionSaysIsNotAdvisedAgain(t *testing.T) {
	config := parse(t, `
upstreams: {a: {command: [x]}}
tools:
  a/mail_send: {effect: non_idempotent, marker: {into: /op}, max_processing: 10m}
  a/lost: {effect: non_idempotent}
  a/mail_read: {effect: read_only}
  a/wrong_part: {effect: non_idempotent, key: {from: [meta.run, /oder_id]}, matter: [/order_id]}
`)
	tools := []policy.ListedTool{
		{Tool: "a/mail_send", Arguments: []string{"message_id"}, Made: true, Looks: true},
		{Tool: "a/lost", Made: true},
		{Tool: "a/mail_read", Made: true},
		{Tool: "a/wrong_part", Arguments: []string{"order_id"}, Made: true, Looks: true},
	}
	const effect = ": then a call about the same thing in other words waits while one is unresolved"
	const matter = "write matter: [/message_id], or whatever arguments say what the call is about" + effect
	const none = "write matter: and pointers to the arguments that say what the call is about, if any do" + effect
	lost := "write lookups in its connector's description, and what they look for: until then a lost answer goes to a person"
	want := map[deed.Tool][]string{
		"a/mail_send": {matter}, "a/lost": {none, lost}, "a/mail_read": nil,
		"a/wrong_part": {"its schema has no argument oder_id, of which the key is derived: every call without it is refused; did you mean /order_id?", lost},
	}
	for _, a := range policy.Advise(config, tools) {
		if diff := cmp.Diff(want[a.Tool], a.Better); diff != "" {
			t.Errorf("%s (-want +got):\n%s", a.Tool, diff)
		}
		if probed := a.Guarantee == policy.GuaranteeProbed; probed != (a.Tool == "a/mail_send") {
			t.Errorf("%s: %s", a.Tool, a.Guarantee)
		}
	}
}

func TestTheProposedMatterIsOfTheArgumentsThatTheToolHas(t *testing.T) {
	config := parse(t, "upstreams: {a: {command: [x]}}\ntools: {a/do: {effect: non_idempotent}}\n")
	for want, arguments := range map[string][]string{
		"matter: [/order_id],":     {"amount", "request_id", "order_id"},
		"matter: [/to, /subject],": {"subject", "text", "to"},
		"matter: [/path],":         {"content", "path"},
		"matter: and pointers":     {"content"},
	} {
		advice := policy.Advise(config, []policy.ListedTool{{Tool: "a/do", Arguments: arguments}})
		if !slices.ContainsFunc(advice[0].Better, func(text string) bool { return strings.Contains(text, want) }) {
			t.Errorf("of %v it proposes %q, want %s", arguments, advice[0].Better, want)
		}
	}
}
