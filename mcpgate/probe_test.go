// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/storetest"
)

const searchTool = `{"name":"search","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}`

func TestALookUpReadsAndChangesNothing(t *testing.T) {
	command, log := hostile(t)
	h := build(t, nil, hints(nil), nil)
	link := command.Open(func(mcpgate.Event) {}, true)
	defer link.Close()
	result, err := h.gate.Probe(t.Context(), link, nil, "hostile/get", []byte(`{"q":"m-1"}`))
	if err != nil || string(result) != hostileResult {
		t.Fatalf("%s, %v", result, err)
	}
	for _, tool := range []deed.Tool{"hostile/add", "hostile/nope"} {
		if _, err := h.gate.Probe(t.Context(), link, nil, tool, []byte(`{}`)); !errors.Is(err, mcpgate.ErrNotReadOnly) {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if calls := received(t, log, "tools/call"); len(calls) != 1 || !strings.Contains(calls[0], `"arguments":{"q":"m-1"}`) {
		t.Errorf("the upstream received %q", calls)
	}
}

func TestALookUpWithoutAWholeResultIsAnError(t *testing.T) {
	for _, x := range []struct{ name, answer, want string }{
		{"an error result", `{"isError":true,"content":[{"type":"text","text":"no such ticket"}]}`, "no such ticket"},
		{"a question", question, "no result"},
		{"a task", `{"resultType":"task","taskId":"t-1"}`, "no result"},
		{"no object", `[]`, "no object"},
	} {
		t.Run(x.name, func(t *testing.T) {
			h := build(t, nil, hints(nil), nil)
			u := newHeld()
			u.offers(searchTool)
			failed := make(chan error, 1)
			go func() {
				_, err := h.gate.Probe(t.Context(), u, nil, "held/search", []byte(`{}`))
				failed <- err
			}()
			<-u.came
			u.answer(x.answer)
			err := <-failed
			var read *mcpgate.ReadError
			if err == nil || !strings.Contains(err.Error(), x.want) || errors.As(err, &read) != (x.name == "an error result") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestALookUpEndsWithItsContext(t *testing.T) {
	h := build(t, nil, hints(nil), nil)
	u := newHeld()
	u.offers(searchTool)
	ctx, leave := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := h.gate.Probe(ctx, u, nil, "held/search", []byte(`{}`))
		failed <- err
	}()
	<-u.came
	leave()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestNothingIsLookedUpWithAToolThatChanged(t *testing.T) {
	clock := storetest.NewClock(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	h := build(t, clock, hints(nil), nil)
	u := newHeld()
	u.offers(searchTool)
	done := make(chan error, 1)
	go func() {
		_, err := h.gate.Probe(t.Context(), u, nil, "held/search", []byte(`{}`))
		done <- err
	}()
	<-u.came
	u.answer(doneResult)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	u.offers(strings.Replace(searchTool, `{"type":"object"}`, `{"type":"object","properties":{"all":{}}}`, 1))
	h.gate.Changed("held")
	clock.Advance(time.Minute)
	if _, err := h.gate.Probe(t.Context(), u, nil, "held/search", []byte(`{}`)); err == nil || !strings.Contains(err.Error(), "definition changed") {
		t.Errorf("%v", err)
	}
	if n := u.count("tools/call"); n != 1 {
		t.Errorf("the upstream received %d calls", n)
	}
}
