// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"fmt"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/provider"
)

// lookUps are the lost answers of providers that can be asked what happened.
func lookUps() []story {
	marked := with(wordless("pay.charge"), "pay.charge", map[string]any{
		"marker": map[string]any{"into": "/nonce"}, "max_processing": "1s",
		"reconcile": map[string]any{
			"tool": "shop/pay.get", "args": map[string]any{"order_id": "{args./order_id}"}, "lag": "1s", "give_up": "1h",
			"found": "result.structuredContent.items.filter(i, has(i.nonce) && i.nonce == marker)",
			"pages": map[string]any{"next": "null", "arg": "/cursor"},
		},
	})
	marked["pay.get"] = map[string]any{"effect": "read_only"}
	read := func(p place) bool { return p.kind != proxied }
	return []story{
		{id: "A01 looked up", setup: setup{tools: marked}, play: a01LookedUp, agent: a01LookedUpAgent, only: read},
		{id: "A01 look-up unavailable", setup: setup{tools: marked}, play: a01CannotLook, only: read},
		{id: "A01 request lost", setup: setup{tools: marked}, play: a01RequestLost, only: read},
	}
}

func (w *world) lookup(l provider.Lookup) {
	w.Helper()
	s := provider.DefaultSettings()
	s.Lookup = l
	w.must(w.fixture.Configure(w.Context(), s))
}

// lookNow looks an operation up from the command line. The gateway may have been
// first, and a provider may not answer.
func (w *world) lookNow(id string) {
	out, err := w.tryOps("reconcile", id)
	w.Logf("deed ops reconcile: %v %s", err, out)
}

// found waits until the gateway has looked an uncertain operation up by itself.
func (w *world) found(order, want string) faultkit.Step {
	w.Helper()
	for {
		step := w.send(w.running, charge("charge:"+order+":first", order, 100))
		if step.String() != uncertain && step.String() != inProgress {
			w.is(step, want)
			return step
		}
		w.wait(0)
	}
}

func a01LookedUp(w *world) {
	w.misbehave(provider.CommitDrop)
	step := w.call(charge("charge:order-1:first", "order-1", 100), unknown)
	w.lookNow(step.Result.Operation.ID)
	w.found("order-1", replay)
	w.counted("order-1", 1, 1)
	op := w.shown(step.Result.Operation.ID)
	if op.Status != "committed" || op.Receipt == nil || op.Receipt.RemoteID != "pay_000001" {
		w.Errorf("looked up, and recorded as %s with %+v", op.Status, op.Receipt)
	}
}

// a01LookedUpAgent comes back after the look-up and finds its payment done.
func a01LookedUpAgent(w *world, a agent) {
	w.misbehave(provider.CommitDrop)
	end := w.pursue(a, orderIntent("order-1"))
	if !end.done {
		w.lookNow(end.steps[0].Result.Operation.ID)
		w.resume(a, orderIntent("order-1"), "first")
	}
	w.counted("order-1", 1, 1)
}

// a01CannotLook asks a provider that answers nothing, and one that sees nothing
// yet: neither is a reason to send it again.
func a01CannotLook(w *world) {
	for i, l := range []provider.Lookup{provider.Unavailable, provider.NoLookup} {
		order := fmt.Sprintf("order-%d", i)
		w.lookup(l)
		w.misbehave(provider.CommitDrop)
		step := w.call(charge("charge:"+order+":first", order, 100), unknown)
		w.lookNow(step.Result.Operation.ID)
		w.call(charge("charge:"+order+":first", order, 100), uncertain)
		w.counted(order, 1, 1)
	}
}

// a01RequestLost is a request that got lost on the way: the provider says so, and
// the same key may be sent again.
func a01RequestLost(w *world) {
	w.order(provider.Fault{Fault: provider.RPCErrorFault, Times: 1})
	w.call(charge("charge:order-1:first", "order-1", 100), unknown)
	step := w.found("order-1", "failed|"+committed)
	if step.String() == "failed" {
		w.again(charge("charge:order-1:first", "order-1", 100), committed)
	}
	w.call(charge("charge:order-1:first", "order-1", 100), replay)
	w.counted("order-1", 2, 1)
}
