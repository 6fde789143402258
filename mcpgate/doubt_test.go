// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/storetest"
)

// searching looks an operation up with a read-only tool of its upstream, through the gate.
type searching struct {
	gate func() *mcpgate.Gate
	link mcpgate.Link
}

func (s searching) Probe(ctx context.Context, q deed.Inquest) (deed.Verdict, error) {
	result, err := s.gate().Probe(ctx, s.link, nil, "held/search", []byte(`{"q":"`+q.Marks.Marker+`"}`))
	if err != nil || !strings.Contains(string(result), q.Marks.Marker) {
		return deed.Verdict{Kind: deed.VerdictUndetermined, Strategy: "search"}, err
	}
	return deed.Verdict{Kind: deed.VerdictFound, Strategy: "search", Complete: true, Matches: []deed.Match{{Token: q.Marks.Marker, RemoteID: "T-7"}}}, nil
}

func TestADoubtIsLookedUpWithinTheNextCall(t *testing.T) {
	clock := storetest.NewClock(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	policy := hints(func(r *deed.Rule) {
		if !r.Mutates() {
			return
		}
		r.GiveUp, r.ReconcileInline, r.Matter = time.Hour, true, []string{"/order"}
		r.Planting = &deed.Planting{Plant: func(arguments []byte, marks deed.Marks) ([]byte, error) {
			return []byte(strings.TrimSuffix(string(arguments), "}") + `,"op":"` + marks.Marker + `"}`), nil
		}}
	})
	u := newHeld()
	u.offers(`{"name":"add","inputSchema":{"type":"object"}}`, searchTool)
	var h house
	store := &watchedStore{Store: storetest.NewMemory(clock)}
	runtime, err := deed.New(deed.Options{Store: store, Policy: policy, Clock: clock, Reconciler: searching{func() *mcpgate.Gate { return h.gate }, u}})
	if err != nil {
		t.Fatal(err)
	}
	gate, err := mcpgate.NewGate(mcpgate.GateOptions{Ledger: runtime, Policy: policy, Clock: clock, Log: func(string) {}, Pins: &mcpgate.Pins{Settings: store}})
	if err != nil {
		t.Fatal(err)
	}
	h = house{store, runtime, gate}
	t.Cleanup(func() {
		if err := gate.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := runtime.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	c := serve(t, mcpgate.Stdio{Name: "held", Upstream: u, Principal: tester, Guard: gate, Drain: time.Millisecond})
	mustContain(t, c.list("0"), `"guarantee":"can be probed: at most once, doubts are looked up"`, `"reconcile":true`)

	call := func(id string) {
		c.send(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"add","arguments":{"order":"1042","idempotency_key":"add:order-1042:first"}}}`, id)
	}
	call("1")
	<-u.came
	sent := u.params(t, 0)
	marker := sent[strings.Index(sent, `"op":"`)+6:][:26]
	u.refuse(`{"code":-32603,"message":"boom"}`)
	line := c.reply("1")
	mustDecide(t, line, map[string]any{"status": "uncertain"})
	mustContain(t, line, "It is being checked: read deed_operations op_")
	mustContain(t, c.call("2", "deed_operations", `{"status":"uncertain"}`), `"matter":["1042"]`, `"status":"uncertain"`)

	// The search does not know it yet.
	call("3")
	<-u.came
	u.answer(`{"content":[]}`)
	mustDecide(t, c.reply("3"), map[string]any{"decision": "uncertain"})
	mustContain(t, c.call("4", "deed_operations", `{"status":"uncertain"}`), `"next_check_at":"2026-11-01T12:00:`)
	clock.Advance(10 * time.Second)
	call("5")
	<-u.came
	u.answer(`{"content":[{"type":"text","text":"` + marker + `"}]}`)
	found := c.reply("5")
	mustDecide(t, found, map[string]any{"decision": "replay", "status": "committed"})
	mustContain(t, found, "Already done: it was found at the provider (T-7)")
	mustContain(t, c.call("6", "deed_operations", `{}`), `"established_by":"reconcile:search"`, `"remote_id":"T-7"`)
}
