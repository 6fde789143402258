// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
)

// unreachable is a ledger that takes no writes.
type unreachable struct{ mcpgate.Ledger }

func (unreachable) Claim(context.Context, deed.Call) (deed.Answer, *deed.Grant, error) {
	return deed.Answer{Decision: deed.Denied, Reason: deed.ReasonStoreUnavailable, Text: "ledger unavailable: no space left on device"}, nil, nil
}

func TestWhyTheLedgerTakesNoWritesIsForPeople(t *testing.T) {
	var mu sync.Mutex
	var logged []string
	c, log := guarded(t, build(t, nil, hints(nil), func(o *mcpgate.GateOptions) {
		o.Ledger = unreachable{o.Ledger}
		o.Log = func(text string) {
			mu.Lock()
			defer mu.Unlock()
			logged = append(logged, text)
		}
	}))
	c.initialize()
	for _, id := range []string{"1", "2"} {
		line := c.call(id, "add", `{"n":1,"idempotency_key":`+key1+`}`)
		mustDecide(t, line, map[string]any{"decision": "denied", "reason": "store_unavailable"})
		mustContain(t, line, "the record of actions cannot be reached")
		if strings.Contains(line, "no space left") {
			t.Errorf("a model is told of the disk: %s", line)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if want := "hostile/add: not sent: ledger unavailable: no space left on device"; len(logged) != 1 || logged[0] != want {
		t.Errorf("people are told %q, want once %q", logged, want)
	}
	if got := received(t, log, "tools/call"); len(got) != 0 {
		t.Errorf("the upstream received %q", got)
	}
}
