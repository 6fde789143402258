// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/outcome"
)

func TestABusyUpstreamSaysWhenToComeBack(t *testing.T) {
	declared := func(o *mcpgate.GateOptions) {
		o.Outcomes = func(deed.Tool) outcome.Rules {
			return outcome.Rules{Failed: []outcome.Failed{{Status: 503, RetryAfterRequired: true}}}
		}
	}
	for _, x := range []struct {
		name, tool string
		edit       func(*mcpgate.GateOptions)
		want       map[string]any
		again      string
	}{
		{"too many requests", "429", nil, map[string]any{"status": "failed", "reason": "refused", "retry_after": 7.0}, "failed"},
		{"unavailable, which the policy trusts", "503", declared, map[string]any{"status": "failed", "reason": "refused", "retry_after": 7.0}, "failed"},
		{"unavailable, of which nothing is declared", "503", nil, map[string]any{"status": "uncertain", "reason": "outcome_unknown"}, "uncertain"},
	} {
		t.Run(x.name, func(t *testing.T) {
			b, remote := bad(t)
			c := serve(t, mcpgate.Stdio{Name: "bad", Upstream: remote, Principal: tester, Guard: build(t, nil, hints(nil), x.edit).gate})
			c.initialize()
			args := `{"idempotency_key":` + key1 + `}`
			mustDecide(t, c.call("1", x.tool, args), x.want)
			mustDecide(t, c.call("2", x.tool, args), map[string]any{"decision": x.again})
			if n := b.count(x.tool); n != 1 {
				t.Errorf("the upstream received %d calls", n)
			}
		})
	}
}

func TestAGuardedCallIsAnsweredWithAStreamWhereTheUpstreamStreams(t *testing.T) {
	var calls, resumed atomic.Int32
	server := httptest.NewServer(pollingServer(&calls, &resumed))
	t.Cleanup(server.Close)
	remote := &mcpgate.Remote{URL: server.URL, Log: func(string) {}}
	t.Cleanup(func() { remote.Close() })
	url := serveHTTP(t, mcpgate.HTTPOptions{Upstreams: map[string]mcpgate.Upstream{"poll": remote}, Local: tester, Guard: build(t, nil, hints(nil), nil).gate}) + "/mcp/poll"
	session := post(t, url, initializeBody).header.Get("Mcp-Session-Id")
	got := post(t, url, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"pay","arguments":{"idempotency_key":`+key1+`}}}`, "Mcp-Session-Id", session)
	// Its own stream is cut and read on by the gateway: the client gets the pause and the answer, and no event id to take it up with.
	if !strings.HasPrefix(got.body, "retry: 1\n\nevent: message\ndata: {") || strings.Contains(got.body, "e-1") {
		t.Errorf("got %q", got.body)
	}
	mustContain(t, got.body, `"status":"committed"`)
	if kind := got.header.Get("Content-Type"); kind != "text/event-stream" || calls.Load() != 1 || resumed.Load() != 1 {
		t.Errorf("%s, %d calls, %d resumed", kind, calls.Load(), resumed.Load())
	}
}
