// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

// layers are the failures of layers that were to prevent duplicates.
func layers() []story {
	return []story{
		{id: "E06", setup: setup{tools: business(), url: true}, play: e06, agent: e06Agent},
		{id: "E07", setup: setup{tools: business()}, play: e07},
		{id: "E07 failures", setup: setup{tools: business()}, play: e07Failures},
		{id: "E10", setup: setup{tools: business()}, play: e10},
	}
}

func e06(w *world) {
	call := charge("charge:order-1:first", "order-1", 100)
	w.misbehave(provider.RefuseConn)
	w.call(call, failed+":not_sent")
	w.counted("order-1", 0, 0)
	w.must(w.fixture.Release(w.Context(), ""))
	w.again(call, committed)
	w.call(call, replay)
	w.counted("order-1", 1, 1)
}

func e06Agent(w *world, a agent) {
	w.misbehave(provider.RefuseConn)
	step := w.send(w.running, orderIntent("order-1").call("pay.charge:order-1:first", 0))
	w.is(step, failed+":not_sent")
	w.speaks(step, orderIntent("order-1"))
	w.must(w.fixture.Release(w.Context(), ""))
	w.finished(w.pursue(a, orderIntent("order-1")))
	w.counted("order-1", 1, 1)
}

// e07 tells a replay from the first answer, and finds nothing else changed.
func e07(w *world) {
	call := charge("charge:order-1:first", "order-1", 100)
	first, second := w.call(call, committed), w.call(call, replay)
	op := second.Result.Operation
	if !op.Replayed || op.ID != first.Result.Operation.ID || op.RemoteID() == "" || op.RemoteID() != first.Result.Operation.RemoteID() {
		w.Errorf("the replay is not marked as one of the same operation: %+v", *op)
	}
	var receipt struct {
		At string `json:"committed_at"`
	}
	w.must(json.Unmarshal(op.Receipt, &receipt))
	if w.door.mcp() {
		text := second.Result.Texts[len(second.Result.Texts)-1]
		if !strings.Contains(text, op.ID) || receipt.At == "" || !strings.Contains(text, receipt.At[:16]) {
			w.Errorf("the text does not name the operation and when it was done (%s): %q", receipt.At, text)
		}
	} else if receipt.At == "" {
		w.Errorf("the receipt does not say when it was done: %s", op.Receipt)
	}
	w.sameContent(first.Result, second.Result)
	w.counted("order-1", 1, 1)
}

// sameContent compares two results without what deed says about them: its entry
// in _meta and the last text block of the replay.
func (w *world) sameContent(first, replayed caller.Result) {
	w.Helper()
	strip := func(r caller.Result, blocks int) map[string]json.RawMessage {
		var members map[string]json.RawMessage
		w.must(json.Unmarshal(r.Raw, &members))
		var content []json.RawMessage
		w.must(json.Unmarshal(members["content"], &content))
		delete(members, "_meta")
		members["content"] = raw(content[:len(content)-blocks])
		return members
	}
	said := 0
	if w.door.mcp() {
		said = 1
	}
	a, b := strip(first, 0), strip(replayed, said)
	if got, want := raw(b), raw(a); !bytes.Equal(got, want) {
		w.Errorf("the replayed result differs:\n%s\n%s", got, want)
	}
	if !bytes.Equal(a["structuredContent"], b["structuredContent"]) {
		w.Errorf("structuredContent differs: %s, first %s", b["structuredContent"], a["structuredContent"])
	}
}

// e07Failures tells a stored failure from a fresh one.
func e07Failures(w *world) {
	call := charge("charge:order-1:first", "order-1", 100)
	w.misbehave(provider.Reject4xx)
	fresh, stored := w.call(call, failed+":refused"), w.call(call, "failed:refused")
	if stored.Result.Operation.ID != fresh.Result.Operation.ID {
		w.Error("the stored failure is not that of the operation")
	}
	w.counted("order-1", 1, 0)
}

func e10(w *world) {
	call := func(int) caller.Call { return charge("charge:order-1:first", "order-1", 100) }
	w.oneOf(w.together(50, call, w.running, w.replica()), committed, "in_progress|replay")
	w.counted("order-1", 1, 1)
}
