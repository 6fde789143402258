// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
)

type readPolicy struct{}

func (readPolicy) Rule(tool deed.Tool, _ deed.ToolFacts) deed.Rule {
	rule := deed.DefaultRule(tool)
	rule.Effect = deed.EffectReadOnly
	rule.Rate = deed.Limit{N: 1e9, Per: 1}
	return rule
}

type instantLink struct{}

func (instantLink) Ready(context.Context) error { return nil }
func (instantLink) Close() error                { return nil }
func (instantLink) Send(_ context.Context, x *Exchange) {
	m, _ := ParseMessage([]byte(`{"result":{"structuredContent":{"z":9007199254740993,"a":1.0},"content":[{"type":"text","text":"hello"}],"isError":false},"id":7,"jsonrpc":"2.0"}`))
	x.Done(Reply{Delivery: Answered, Message: m})
}

// BenchmarkRead is what the gateway itself does for one read: parse, admit, answer.
func BenchmarkRead(b *testing.B) {
	rt, err := deed.New(deed.Options{Store: storetest.NewMemory(deed.SystemClock{}), Policy: readPolicy{}})
	if err != nil {
		b.Fatal(err)
	}
	gate, err := NewGate(GateOptions{Ledger: rt, Policy: readPolicy{}, Log: func(string) {}})
	if err != nil {
		b.Fatal(err)
	}
	s := newSession("x", "s", deed.Principal{Tenant: "t", Actor: "a", Rights: []deed.Right{deed.RightCall}}, instantLink{}, gate)
	gate.Tools(s, []byte(`{"tools":[{"name":"get","inputSchema":{"type":"object"}}]}`))
	out := stdioOutlet{&lineWriter{w: discard{}}}
	line := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get","arguments":{"path":"/a"}}}`)
	b.ReportAllocs()
	for b.Loop() {
		m, err := ParseMessage(line)
		if err != nil {
			b.Fatal(err)
		}
		s.Handle(context.Background(), m, nil, out)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
