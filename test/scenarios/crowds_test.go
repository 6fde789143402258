// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

// crowds are the failures of many equal calls at once.
func crowds() []story {
	return []story{
		{id: "H01", setup: setup{tools: business(), defaults: map[string]any{"timeout": "1m"}}, play: h01, only: overMCP},
		{id: "H01 in one write", setup: setup{tools: business()}, play: h01InOneWrite, only: func(p place) bool { return p.stdio() && p.replicas == 1 }},
		{id: "H01 by keys of a model", setup: setup{tools: business(), defaults: map[string]any{"timeout": "1m"}}, play: h01ByKeys, only: overMCP},
	}
}

// h01 sends seventy equal calls that only the client's call ids tell apart.
func h01(w *world) {
	w.joined(func(i int) caller.Call {
		return caller.Call{
			Tool: "pay.charge", Arguments: raw(object{"order_id": "order-1", "amount": 100}),
			Meta: object{"claudecode/toolUseId": fmt.Sprintf("toolu_%02d", i), "deed/session": "conversation-1"},
		}
	})
}

// h01ByKeys lets the model invent a key for each of them.
func h01ByKeys(w *world) {
	w.joined(func(i int) caller.Call {
		arguments := object{"order_id": "order-1", "amount": 100, "idempotency_key": fmt.Sprintf("charge:order-1:%02d", i)}
		return caller.Call{Tool: "pay.charge", Arguments: raw(arguments)}
	})
}

func (w *world) joined(call func(i int) caller.Call) {
	w.Helper()
	session, control := w.hop()
	w.listed(session)
	w.misbehave(provider.Hang)
	released := make(chan error, 1)
	go func() {
		err := w.passed(session, control, 70)
		if err == nil {
			err = w.fixture.AwaitHeld(w.Context(), "pay.charge", 1)
		}
		released <- errors.Join(err, w.fixture.Release(w.Context(), ""))
	}()
	steps := w.together(70, call, session)
	w.must(<-released)
	w.oneOf(steps, committed, "replay:twin_joined|replay:joined")
	w.counted("order-1", 1, 1)
	var first json.RawMessage
	for _, step := range steps {
		if first == nil {
			first = step.Result.Structured
		}
		if diff := cmp.Diff(string(first), string(step.Result.Structured)); diff != "" {
			w.Errorf("two of the equal calls got different results:\n%s", diff)
		}
		if op := step.Result.Operation; step.String() == replay && (op == nil || !op.Replayed) {
			w.Errorf("a shared result is not marked as a replay: %s", step.Result.Raw)
		}
	}
}

// listed reads the list of tools, as every client does before its first call.
func (w *world) listed(s caller.Session) {
	w.Helper()
	if _, err := caller.ToolNames(w.Context(), s); err != nil {
		w.Fatal(err)
	}
}

// h01InOneWrite hands over all seventy before any answer is there, to a provider
// that answers at once.
func h01InOneWrite(w *world) {
	pipe := w.pipe()
	pipe.write(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	pipe.answers(2)
	var calls []string
	for i := range 70 {
		calls = append(calls, equalCall(i))
	}
	pipe.write(calls...)
	pipe.answers(len(calls))
	pipe.end()
	w.counted("order-1", 1, 1)
}

func equalCall(i int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"pay.charge",`+
		`"arguments":{"order_id":"order-1","amount":100},"_meta":{"claudecode/toolUseId":"toolu_%02d"}}}`, i, i)
}
