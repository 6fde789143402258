// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
)

// mail is a Local that notes what it was asked for.
type mail struct {
	mu   sync.Mutex
	sent []string
	// send, when set, is what the tool does.
	send func(ctx context.Context, grant *deed.Grant) deed.Outcome
	// answer, when set, is what it comes to.
	answer *deed.Outcome
}

const mailTools = `{"tools":[` +
	`{"name":"mail_send","description":"Sends.","inputSchema":{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}},` +
	`{"name":"mail_get","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}]}`

func (m *mail) Tools(context.Context) ([]byte, error) { return []byte(mailTools), nil }

func (m *mail) Call(ctx context.Context, tool string, grant *deed.Grant, arguments []byte) deed.Outcome {
	m.mu.Lock()
	m.sent = append(m.sent, fmt.Sprintf("%s %s %t %d %t", tool, arguments, grant.Operation != "", grant.Attempt, grant.MaySend() == nil))
	m.mu.Unlock()
	if m.answer != nil {
		return *m.answer
	}
	if m.send != nil {
		return m.send(ctx, grant)
	}
	return deed.Outcome{
		Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteSystem: "mail", RemoteID: "<m-1@example>"},
		Result: []byte(`{"content":[{"type":"text","text":"accepted"}],"structuredContent":{"n":9007199254740993}}`),
	}
}

func (m *mail) calls() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.sent...)
}

const mailArguments = `{"to":"ada@example.org","idempotency_key":"mail:order-1042:first"}`

func localStdio(t *testing.T, m *mail, policy deed.Policy) (*lineClient, house) {
	t.Helper()
	h := build(t, nil, policy, nil)
	c := serve(t, mcpgate.Stdio{Name: "mail", Upstream: mcpgate.LocalUpstream{Tools: m}, Principal: tester, Guard: h.gate, Drain: time.Millisecond})
	c.initialize()
	return c, h
}

func TestALocalToolIsGuardedAsAnyOther(t *testing.T) {
	m := &mail{}
	c, _ := localStdio(t, m, hints(nil))
	mustContain(t, c.list("0"), "Runs at most once per idempotency_key", `"name":"deed_operations"`)
	first := c.call("1", "mail_send", mailArguments)
	mustDecide(t, first, map[string]any{"decision": "execute", "status": "committed"})
	mustContain(t, first, `"structuredContent":{"n":9007199254740993}`, `"remote_id":"\u003cm-1@example\u003e"`, `"remote_system":"mail"`)
	second := c.call("2", "mail_send", mailArguments)
	mustDecide(t, second, map[string]any{"decision": "replay", "reason": "stored"})
	mustContain(t, second, "(m-1@example). Nothing was sent now")
	mustDecide(t, c.call("3", "mail_send", `{"to":1,"idempotency_key":"mail:order-1042:other"}`), map[string]any{"decision": "denied", "reason": "bad_arguments"})
	mustContain(t, c.call("4", "mail_get", `{}`), `"text":"accepted"`)
	want := []string{`mail_send {"to":"ada@example.org"} true 1 true`, `mail_get {} false 0 true`}
	if got := m.calls(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestALocalOutcomeIsTakenAsItIs(t *testing.T) {
	for _, x := range []struct {
		name string
		out  deed.Outcome
		want map[string]any
		text string
	}{
		{"proved unsent", deed.Outcome{Kind: deed.OutcomeUnsent, Message: "no route"}, map[string]any{"status": "failed", "reason": "not_sent"}, "Call again with the same key"},
		{"a final refusal", deed.Outcome{Kind: deed.OutcomeRefused, Final: true, Reason: deed.ReasonRefused, Message: "550 no such user"}, map[string]any{"status": "failed", "reason": "refused"}, "550 no such user"},
		{"a refusal for now", deed.Outcome{Kind: deed.OutcomeRefused, RetryAfter: 7 * time.Second, Reason: deed.ReasonRefused}, map[string]any{"status": "failed", "retry_after": 7.0}, "after 7 s"},
		{"nothing known", deed.Outcome{Kind: deed.OutcomeUnknown, Reason: deed.ReasonOutcomeUnknown}, map[string]any{"status": "uncertain", "reason": "outcome_unknown"}, "OUTCOME UNKNOWN"},
		{"success without a result", deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: "m-2"}}, map[string]any{"status": "committed"}, "Done."},
	} {
		t.Run(x.name, func(t *testing.T) {
			m := &mail{send: func(context.Context, *deed.Grant) deed.Outcome { return x.out }}
			c, _ := localStdio(t, m, hints(nil))
			line := c.call("1", "mail_send", mailArguments)
			mustDecide(t, line, x.want)
			mustContain(t, line, x.text)
		})
	}
}

func TestALocalToolThatPanicsLeavesItUncertain(t *testing.T) {
	m := &mail{send: func(context.Context, *deed.Grant) deed.Outcome { panic("boom") }}
	c, _ := localStdio(t, m, hints(nil))
	mustDecide(t, c.call("1", "mail_send", mailArguments), map[string]any{"status": "uncertain", "reason": "outcome_unknown"})
	mustDecide(t, c.call("2", "mail_send", mailArguments), map[string]any{"decision": "uncertain"})
}

func TestALocalToolIsNotCancelledWhenItsCallerLeaves(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	m := &mail{send: func(ctx context.Context, _ *deed.Grant) deed.Outcome {
		close(started)
		select {
		case <-release:
			return deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: "m-3"}}
		case <-ctx.Done():
			return deed.Outcome{Kind: deed.OutcomeUnknown}
		}
	}}
	c, h := localStdio(t, m, hints(nil))
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mail_send","arguments":%s}}`, mailArguments)
	<-started
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	c.list("2")
	close(release)
	until(t, "the commit", func() bool { return h.status(t) == deed.StatusCommitted })
}

func TestALocalToolEndsWithTheGateway(t *testing.T) {
	started := make(chan struct{})
	m := &mail{send: func(ctx context.Context, _ *deed.Grant) deed.Outcome {
		close(started)
		<-ctx.Done()
		return deed.Outcome{Kind: deed.OutcomeUnknown, Reason: deed.ReasonOutcomeUnknown}
	}}
	c, h := localStdio(t, m, hints(nil))
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mail_send","arguments":%s}}`, mailArguments)
	<-started
	c.close()
	if got := h.status(t); got != deed.StatusUncertain {
		t.Errorf("the operation is %s", got)
	}
}

func TestLocalToolsAreServedOverHTTPInBothEras(t *testing.T) {
	for name, transport := range map[string]*mcp.ClientSessionOptions{"sessions": {ProtocolVersion: "2025-11-25"}, "stateless": nil} {
		t.Run(name, func(t *testing.T) {
			m := &mail{}
			url := serveHTTP(t, mcpgate.HTTPOptions{
				Upstreams: map[string]mcpgate.Upstream{"mail": mcpgate.LocalUpstream{Tools: m, Name: "mail"}}, Local: tester, Guard: build(t, nil, hints(nil), nil).gate,
			}) + "/mcp/mail"
			client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
			session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{}, DisableStandaloneSSE: true}, transport)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 3 {
				t.Fatalf("%v, %v", tools, err)
			}
			for range 2 {
				result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "mail_send", Arguments: map[string]any{"to": "ada@example.org", "idempotency_key": "mail:order-1042:first"}})
				if err != nil || result.IsError {
					t.Fatalf("%v, %v", result, err)
				}
			}
			if got := m.calls(); len(got) != 1 {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestABatchThatWasTakenInPartSaysSo(t *testing.T) {
	out := deed.Outcome{Kind: deed.OutcomeSuccess, Result: []byte(`{"content":[{"type":"text","text":"250"}]}`), Receipt: deed.Receipt{
		RemoteID: "m-1", Items: []deed.Item{
			{ID: "ada@example.org", Outcome: deed.OutcomeSuccess, RemoteID: "q-1"},
			{ID: "bob@example.org", Outcome: deed.OutcomeRefused, Reason: "550 no such user"},
		},
	}}
	m := &mail{send: func(context.Context, *deed.Grant) deed.Outcome { return out }}
	c, _ := localStdio(t, m, hints(nil))
	const want = "Done for 1 of 2: q-1. Refused: bob@example.org (550 no such user). Nothing is unknown. The refused ones are new actions."
	mustContain(t, c.call("1", "mail_send", mailArguments), `"text":"250"`, want)
	mustContain(t, c.call("2", "mail_send", mailArguments), "Already done", want)
	out.Result = nil
	mustContain(t, c.call("3", "mail_send", strings.Replace(mailArguments, "first", "again", 1)), want)
}
