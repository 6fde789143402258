// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"bytes"
	"fmt"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

// identities are the failures of keys that were too fresh, too narrow or too wide.
func identities() []story {
	from := func(parts ...any) setup {
		return setup{tools: with(business(), "pay.charge", map[string]any{"key": map[string]any{"from": parts}})}
	}
	return []story{
		{id: "K01", setup: from("tool", "/order_id", "/amount"), play: k01, agent: k01Agent},
		{id: "K01 without the amount", setup: from("tool", "/order_id"), play: k01WithoutAmount},
		{id: "K05", setup: setup{tools: business()}, play: k05},
		{id: "K09", setup: setup{tools: business()}, play: k09},
	}
}

func k01(w *world) {
	call := func(id string, amount int) caller.Call {
		return caller.Call{Tool: "pay.charge", Arguments: raw(object{"order_id": "order-1", "amount": amount}), Meta: object{"claudecode/toolUseId": id}}
	}
	w.call(call("call_1", 100), committed)
	w.call(call("call_2", 100), replay)
	w.call(call("call_3", 100), replay)
	w.counted("order-1", 1, 1)
	w.call(call("call_4", 200), committed)
	w.counted("order-1", 2, 2)
}

func k01WithoutAmount(w *world) {
	call := func(id string, amount int) caller.Call {
		return caller.Call{Tool: "pay.charge", Arguments: raw(object{"order_id": "order-1", "amount": amount}), Meta: object{"claudecode/toolUseId": id}}
	}
	w.call(call("call_1", 100), committed)
	w.call(call("call_2", 100), replay)
	step := w.call(call("call_4", 200), "conflict")
	w.speaks(step, intent{keyless: true})
	w.counted("order-1", 1, 1)
}

// k01Agent rewords what the key does not cover, at every turn.
func k01Agent(w *world, a agent) {
	in := orderIntent("order-1")
	in.keyless = true
	w.misbehave(provider.CommitDrop)
	for _, turn := range []string{"one", "two", "three"} {
		in.meta = object{"claudecode/toolUseId": "call_" + turn}
		w.resume(a, in, turn)
	}
	w.counted("order-1", 1, 1)
}

// k05 tells which differences of writing are differences of meaning.
func k05(w *world) {
	for i, c := range []struct{ first, second, want string }{
		{`"a":1,"b":{"x":null,"y":2.0}`, `"b":{"y":2,"x":null},"a":1`, replay},
		{`"a":1,"b":{"x":null,"y":2.0}`, `"a":1,"b":{"y":2}`, "conflict"},
		{`"list":[1,2]`, `"list":[2,1]`, "conflict"},
		{`"price":"0.10"`, `"price":"0.1"`, "conflict"},
		{`"n":9007199254740993`, `"n":9007199254740992`, "conflict"},
		{`"n":9007199254740993`, `"n":9007199254740993`, replay},
		{`"a":1`, `"a":1,"a":1`, "denied:bad_arguments"},
	} {
		order := fmt.Sprintf("order-%d", i)
		call := func(members string) caller.Call {
			return keyed("charge:"+order+":first", "pay.charge", fmt.Sprintf(`{"order_id":%q,%s}`, order, members))
		}
		w.call(call(c.first), committed)
		step := w.call(call(c.second), c.want)
		w.speaks(step, intent{})
		w.counted(order, 1, 1)
		effects, err := w.fixture.Effects(w.Context(), provider.Selection{Op: order})
		w.must(err)
		if len(effects) == 1 && !bytes.Contains(effects[0].Args, []byte(c.first)) {
			w.Errorf("the provider received %s, want %s in it as it was written", effects[0].Args, c.first)
		}
	}
	w.call(keyed("charge:order-d:first", "pay.charge", `{"order_id":"order-d","a":1,"a":2}`), "denied:bad_arguments")
	w.counted("order-d", 0, 0)
}

// k09 reuses a key for another resource and for another tool.
func k09(w *world) {
	move := func(ticket string) caller.Call {
		return keyed("ticket:move:to-done-1", "ticket.transition", object{"id": ticket, "to": "done"})
	}
	w.call(move("ticket-1"), committed)
	step := w.call(move("ticket-2"), "conflict")
	w.speaks(step, intent{})
	w.counted("ticket-1", 1, 1)
	w.counted("ticket-2", 0, 0)
	other := move("ticket-1")
	other.Tool = "ticket.create"
	w.call(other, "conflict")
	w.counted("ticket-1", 1, 1)
	w.call(move("ticket-1"), replay)
}
