// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"bytes"
	"fmt"
	"testing"
)

// TestAFreshGatewayIsReadyForEverythingAtOnce starts with calls that arrive before
// the gateway has learned of any tool.
func TestAFreshGatewayIsReadyForEverythingAtOnce(t *testing.T) {
	t.Run("H01/equal calls", func(t *testing.T) {
		t.Parallel()
		h01Cold(newWorld(t, places()[0], setup{tools: business()}))
	})
	t.Run("H01/reads", func(t *testing.T) {
		t.Parallel()
		h01ColdReads(newWorld(t, places()[0], setup{tools: business()}))
	})
}

func h01Cold(w *world) {
	pipe := w.pipe()
	var calls []string
	for i := range 70 {
		calls = append(calls, equalCall(i))
	}
	pipe.write(calls...)
	pipe.answers(71)
	pipe.end()
	w.counted("order-1", 1, 1)
}

func h01ColdReads(w *world) {
	pipe := w.pipe()
	var calls []string
	for i := range 5 {
		calls = append(calls, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ticket.search","arguments":{"q":"x"}}}`, i))
	}
	pipe.write(calls...)
	for _, answer := range pipe.answers(6) {
		if bytes.Contains(answer, []byte("isError")) {
			w.Errorf("a read was refused: %s", answer)
		}
	}
	pipe.end()
}
