// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

func hint(value bool) *bool { return &value }

func pinned(facts deed.ToolFacts) deed.ToolFacts {
	facts.Definition = "sha256:0"
	return facts
}

func TestTheClassOfATool(t *testing.T) {
	const upstream = "upstreams: {a: {command: [x]}}\n"
	trusting := upstream
	inferring := upstream + "defaults: {unknown_tool: infer}\n"
	denying := upstream + "defaults: {unknown_tool: deny}\ntools: {a/known: {matter: [/id]}}\n"
	ignoring := upstream + "defaults: {annotations: ignore}\n"
	declared := upstream + "defaults: {unknown_tool: infer}\ntools: {a/get_it: {effect: non_idempotent}, a/delete: {effect: read_only}, a/put: {effect: idempotent}, a/list: {timeout: 1m}}\n"
	readOnly := pinned(deed.ToolFacts{ReadOnlyHint: hint(true)})

	for _, test := range []struct {
		name, config string
		tool         deed.Tool
		facts        deed.ToolFacts
		effect       deed.EffectClass
		why          string
		denied       bool
	}{
		{"a declared class counts over the hint and the name", declared, "a/get_it", readOnly, deed.EffectNonIdempotent, "declared", false},
		{"a declared read counts over a write verb and destructiveHint", declared, "a/delete", pinned(deed.ToolFacts{DestructiveHint: hint(true)}), deed.EffectReadOnly, "declared", false},
		{"a declared idempotent class", declared, "a/put", deed.ToolFacts{}, deed.EffectIdempotent, "declared", false},
		{"a configured tool without a class is inferred", declared, "a/list", deed.ToolFacts{}, deed.EffectReadOnly, "read verb list", false},
		{"a read-only hint is contradicted by a verb of change that leads the name", trusting, "a/make_report", readOnly, deed.EffectNonIdempotent, "its name says make", false},
		{"a pinned readOnlyHint makes a read when the name agrees", trusting, "a/directory_tree", readOnly, deed.EffectReadOnly, "readOnlyHint", false},
		{"a read-only hint is not contradicted by query", trusting, "a/query_database", readOnly, deed.EffectReadOnly, "readOnlyHint", false},
		{"a read-only hint is not contradicted by a thing that is also a verb", trusting, "a/get_post", readOnly, deed.EffectReadOnly, "readOnlyHint", false},
		{"a read-only hint is contradicted by a write verb anywhere", trusting, "a/issue_create", readOnly, deed.EffectNonIdempotent, "its name says create", false},
		{"a read-only hint is contradicted by destructiveHint", trusting, "a/tree", pinned(deed.ToolFacts{ReadOnlyHint: hint(true), DestructiveHint: hint(true)}), deed.EffectNonIdempotent, "destructiveHint", false},
		{"a word before a dot that a read verb follows contradicts no read-only hint", trusting, "a/pay.get", readOnly, deed.EffectReadOnly, "readOnlyHint", false},
		{"without the hint such a name is no read", trusting, "a/pay.get", deed.ToolFacts{}, deed.EffectNonIdempotent, "nothing says", false},
		{"a verb before a dot that no read verb follows contradicts the hint", trusting, "a/pay.order", readOnly, deed.EffectNonIdempotent, "its name says pay", false},
		{"a write verb after the dot contradicts the hint", trusting, "a/pay.get_and_send", readOnly, deed.EffectNonIdempotent, "its name says send", false},
		{"message.read may mark the message, whatever the hint says", trusting, "a/message.read", readOnly, deed.EffectNonIdempotent, "its name says message", false},
		{"an unpinned hint does not count", trusting, "a/tree", deed.ToolFacts{ReadOnlyHint: hint(true)}, deed.EffectNonIdempotent, "not pinned", false},
		{"a hint of a changed definition does not count", trusting, "a/tree", pinned(deed.ToolFacts{ReadOnlyHint: hint(true), Quarantined: true}), deed.EffectNonIdempotent, "nobody has accepted", false},
		{"annotations: ignore ignores it", ignoring, "a/tree", readOnly, deed.EffectNonIdempotent, "annotations: ignore", false},
		{"readOnlyHint false says nothing of a name", inferring, "a/get_it", pinned(deed.ToolFacts{ReadOnlyHint: hint(false)}), deed.EffectReadOnly, "read verb get", false},
		{"idempotentHint never makes a class", trusting, "a/put_it", pinned(deed.ToolFacts{IdempotentHint: hint(true)}), deed.EffectNonIdempotent, "unknown_tool: non_idempotent", false},
		{"a read verb alone is not enough by default", trusting, "a/get_it", deed.ToolFacts{}, deed.EffectNonIdempotent, "unknown_tool: non_idempotent", false},
		{"destructiveHint keeps a read verb from counting", inferring, "a/get_it", pinned(deed.ToolFacts{DestructiveHint: hint(true)}), deed.EffectNonIdempotent, "destructiveHint", false},
		{"an unknown tool is denied", denying, "a/other", deed.ToolFacts{}, deed.EffectNonIdempotent, "unknown_tool: deny", true},
		{"a configured tool is not unknown", denying, "a/known", deed.ToolFacts{}, deed.EffectNonIdempotent, "nothing says", false},
		{"a pinned read is not unknown", denying, "a/tree", readOnly, deed.EffectReadOnly, "readOnlyHint", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			rule := parse(t, test.config).Policy().Rule(test.tool, test.facts)
			if rule.Effect != test.effect || !strings.Contains(rule.Why, test.why) {
				t.Errorf("%s is %s because %q, want %s because of %q", test.tool, rule.Effect, rule.Why, test.effect, test.why)
			}
			denied := rule.Deny != nil && rule.Deny([]byte("{}"), deed.Principal{}) != ""
			if denied != test.denied {
				t.Errorf("denied is %t, want %t", denied, test.denied)
			}
		})
	}
}

func TestNamesThatReadAndNamesThatDoNot(t *testing.T) {
	p := policy.BareConfig(policy.BareOptions{}).Policy()
	for _, test := range []struct {
		tools string
		want  deed.EffectClass
	}{
		{
			"a/get a/list a/search a/read a/find a/describe a/show a/count a/status " +
				"a/get_order a/listTickets a/search-files a/read.file a/FindUser a/getHTTPStatus a/describe/table a/show_log " +
				"a/count_items a/status_of_order a/get_post a/list_comments a/GET_ITEM a/read_multiple_files " +
				"a/issues.list a/repos/get_content github/github_list_issues git/git_status a/list_requests",
			deed.EffectReadOnly,
		},
		{
			"a/create a/update_ticket a/query a/query_users a/execute_sql a/run a/call a/request a/get_request a/run_get a/list_query " +
				"a/get_or_create a/search_and_replace a/find_then_open a/read_write a/getAndDelete a/status_update a/set_status " +
				"a/mark_read a/messages.read a/broadcast_status a/todo_list a/order_status a/getter a/listen a/reading a/counter " +
				"a/lookup a/fetch a/directory_tree a/open_nodes a/ping a/list_update a/show_toggle a/find_remove a/_ a/get-set " +
				"other/github_list_issues a/read_and_mark a/count_reset",
			deed.EffectNonIdempotent,
		},
	} {
		for tool := range strings.FieldsSeq(test.tools) {
			if rule := p.Rule(deed.Tool(tool), deed.ToolFacts{}); rule.Effect != test.want {
				t.Errorf("%s is %s (%s), want %s", tool, rule.Effect, rule.Why, test.want)
			}
		}
	}
}

func TestBareRulesInferAndWarn(t *testing.T) {
	rule := policy.BareConfig(policy.BareOptions{}).Policy().Rule("x/create", deed.ToolFacts{})
	if rule.AfterConflict != deed.AfterConflictWarn || rule.Key.Need != deed.NeedRequired || rule.Mode != deed.ModeEnforce || rule.Revision == "" {
		t.Errorf("bare rule: %+v", rule)
	}
	other := policy.BareConfig(policy.BareOptions{Key: deed.NeedOptional, Mode: deed.ModeObserve}).Policy().Rule("x/create", deed.ToolFacts{})
	if other.Key.Need != deed.NeedOptional || other.Mode != deed.ModeObserve || other.Revision == rule.Revision {
		t.Errorf("bare rule with options: %+v", other)
	}
}
