// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

// windows are the failures of requests without keys, of paths, of statuses and of
// wallets: what belongs to HTTP and to keys of the provider.
func windows() []story {
	wildcard := routes(business())
	maps.DeleteFunc(wildcard, func(name string, _ any) bool { return true })
	wildcard["POST shop/tools/*"] = map[string]any{"key": "required"}
	busy := with(business(), "pay.charge", map[string]any{"failed": []any{map[string]any{"status": 503, "retry_after_required": true}}})
	busyRoutes := routes(business())
	busyRoutes["POST shop/tools/pay.charge"].(map[string]any)["busy"] = []any{503}
	wallet := map[string]any{"wallet.pay": map[string]any{
		"effect": "non_idempotent", "receipt": receipt(), "fingerprint": map[string]any{"exclude": []any{"/nonce"}},
		"provider_key": map[string]any{"header": "Idempotency-Key", "retention": "24h"},
	}}
	return []story{
		{id: "D08", setup: setup{skewed: true, gateway: map[string]any{"routes": keyless()}}, play: d08, only: behindProxy},
		{id: "K09 paths", setup: setup{gateway: map[string]any{"routes": wildcard}}, play: k09Paths, only: behindProxy},
		{id: "A12 trusted status", setup: setup{tools: busy, url: true}, play: a12Status, only: ranByGateway},
		{id: "A12 trusted status of a route", setup: setup{gateway: map[string]any{"routes": busyRoutes}}, play: a12Status, only: behindProxy},
		{id: "G01 presented again", setup: setup{tools: wallet, url: true}, play: g01PresentedAgain},
	}
}

func keyless() map[string]any {
	return map[string]any{"POST shop/tools/pay.charge": map[string]any{
		"key": "optional", "twins": map[string]any{"within": "12s"}, "receipt": map[string]any{"system": "shop", "id": "/id"},
	}}
}

// d08 posts the same webhook twice, 30 ms apart, and once more when it is another.
func d08(w *world) {
	call := caller.Call{Tool: "pay.charge", Arguments: raw(object{"order_id": "order-1", "amount": 100})}
	first := make(chan faultkit.Step, 1)
	go func() { first <- w.send(w.running, call) }()
	time.Sleep(30 * time.Millisecond)
	w.oneOf([]faultkit.Step{w.send(w.running, call), <-first}, committed, "in_progress|replay")
	w.call(call, replay)
	w.counted("order-1", 1, 1)
	if w.database == "" {
		w.later(13 * time.Second)
		w.restart()
		w.call(call, committed)
	} else {
		step := w.send(w.running, call)
		for step.String() == replay {
			w.wait(time.Second)
			step = w.send(w.running, call)
		}
		w.is(step, committed)
	}
	w.counted("order-1", 2, 2)
}

// k09Paths reuses a key, with the same body, for another path of one route.
func k09Paths(w *world) {
	post := func(tool string) caller.Call { return keyed("ticket:move:to-done-1", tool, object{"id": "ticket-1"}) }
	w.call(post("ticket.create"), committed)
	w.call(post("msg.post"), "conflict")
	w.call(post("ticket.create"), replay)
	w.counted("ticket-1", 1, 1)
}

// a12Status is told by the provider that nothing was done: 503 and a time.
func a12Status(w *world) {
	call := charge("charge:order-1:first", "order-1", 100)
	w.misbehave(provider.RejectPrecommit)
	w.call(call, failed)
	w.counted("order-1", 1, 0)
	w.again(call, committed)
	w.counted("order-1", 2, 1)
	// The same status without a time means nothing.
	lost := charge("charge:order-2:first", "order-2", 100)
	if w.door.kind != proxied {
		w.misbehave(provider.Commit5xx)
		w.call(lost, unknown)
		w.call(lost, uncertain)
		w.counted("order-2", 1, 1)
	}
}

// g01PresentedAgain signs anew for the retry; what goes out again are the first
// bytes under the first key of the provider, which settles once.
func g01PresentedAgain(w *world) {
	s := provider.DefaultSettings()
	s.ProviderKeySupport = true
	w.must(w.fixture.Configure(w.Context(), s))
	pay := func(nonce string) caller.Call {
		return keyed("wallet:order-1:first", "wallet.pay", object{"order_id": "order-1", "amount": 5, "nonce": nonce})
	}
	w.misbehave(provider.CommitDrop)
	w.call(pay("n1"), unknown)
	w.call(pay("n2"), committed)
	w.call(pay("n3"), replay)
	w.counted("order-1", 2, 1)
	requests, err := w.fixture.Requests(w.Context(), provider.Selection{Op: "order-1"})
	w.must(err)
	if len(requests) == 2 && (requests[0].Key == "" || requests[0].Key != requests[1].Key || requests[0].ArgsSHA256 != requests[1].ArgsSHA256) {
		w.Errorf("other bytes, or another key, were presented: %+v", requests)
	}
	effects, err := w.fixture.Effects(w.Context(), provider.Selection{Op: "order-1"})
	w.must(err)
	var sent struct{ Nonce string }
	if len(effects) == 1 && (json.Unmarshal(effects[0].Args, &sent) != nil || sent.Nonce != "n1") {
		w.Errorf("the wallet settled %s", effects[0].Args)
	}
}
