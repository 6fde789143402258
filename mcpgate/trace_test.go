// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"context"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
)

// tracing takes the parent from the request and sends its own.
type tracing struct{}

type parentKey struct{}

func (tracing) Received(ctx context.Context, meta map[string]string) context.Context {
	return context.WithValue(ctx, parentKey{}, meta["traceparent"])
}

func (tracing) Sending(ctx context.Context, meta map[string]string) {
	parent, _ := ctx.Value(parentKey{}).(string)
	meta["traceparent"] = "child-of-" + parent
	delete(meta, "tracestate")
}

// tracedLedger notes the parents that it was called with.
type tracedLedger struct {
	*deed.Runtime
	parents chan any
}

func (l *tracedLedger) Claim(ctx context.Context, call deed.Call) (deed.Answer, *deed.Grant, error) {
	l.parents <- ctx.Value(parentKey{})
	return l.Runtime.Claim(ctx, call)
}

func TestTraceContextGoesFromTheRequestToTheLedgerAndUpstream(t *testing.T) {
	for _, x := range []struct{ name, params, sent string }{
		{"a guarded call", `{"name":"add","arguments":{"n":1,"idempotency_key":"add:order-1042:first"},"_meta":{"traceparent":"p","tracestate":"s","x":1.0}}`,
			`"params":{"name":"add","arguments":{"n":1},"_meta":{"traceparent":"child-of-p","x":1.0}}`},
		{"a guarded call without any", `{"name":"add","arguments":{"n":1,"idempotency_key":"add:order-1042:first"}}`,
			`"params":{"name":"add","arguments":{"n":1},"_meta":{"traceparent":"child-of-"}}`},
		{"a read", `{"name":"get","arguments":{"z":1.0},"_meta":{"traceparent":"p","x":1.0}}`,
			`"params":{"name":"get","arguments":{"z":1.0},"_meta":{"traceparent":"child-of-p","x":1.0}}`},
	} {
		t.Run(x.name, func(t *testing.T) {
			ledger := &tracedLedger{parents: make(chan any, 1)}
			h := build(t, nil, hints(nil), nil)
			ledger.Runtime = h.runtime
			gate, err := mcpgate.NewGate(mcpgate.GateOptions{Ledger: ledger, Policy: hints(nil), Trace: tracing{}, Log: func(string) {}})
			if err != nil {
				t.Fatal(err)
			}
			u := newHeld()
			c := serve(t, mcpgate.Stdio{Name: "held", Upstream: u, Principal: tester, Guard: gate})
			c.list("0")
			c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}`, x.params)
			<-u.came
			u.mu.Lock()
			sent := string(u.calls[0].Message.Raw)
			u.mu.Unlock()
			mustContain(t, sent, x.sent)
			u.answer(doneResult)
			c.reply("1")
			want := ""
			if x.name != "a guarded call without any" {
				want = "p"
			}
			if got := <-ledger.parents; got != want {
				t.Errorf("the ledger was called with the parent %v, want %q", got, want)
			}
		})
	}
}
