// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"fmt"

	"github.com/deed-run/deed/faultkit/caller"
)

// consent are the parts of the failures about approvals that are about conditions
// and winners, not about the approval itself.
func consent() []story {
	limited := with(business(), "pay.charge", map[string]any{
		"deny": map[string]any{"when": "args.amount > 1000", "reason": "more than 1000 needs a person"},
	})
	return []story{
		{id: "F03", setup: setup{tools: limited}, play: f03, agent: f03Agent},
		{id: "F18", setup: setup{tools: business()}, play: f18, rotates: true},
	}
}

// f03 writes a large amount in ways that a rule over raw JSON would miss.
func f03(w *world) {
	for i, amount := range []string{`,"amount":"5000"`, ``, `,"amount":5e3`, `,"amount":1000.0000001`, `,"amount":null`, `,"amount":5000`} {
		order := fmt.Sprintf("order-%d", i)
		step := w.call(keyed("charge:"+order+":first", "pay.charge", fmt.Sprintf(`{"order_id":%q%s}`, order, amount)), "denied:forbidden|denied:bad_arguments")
		w.speaks(step, intent{})
		w.counted(order, 0, 0)
	}
	w.call(charge("charge:order-9:first", "order-9", 1000), committed)
	w.counted("order-9", 1, 1)
}

// f03Agent wants too much and is nudged to try on.
func f03Agent(w *world, a agent) {
	for i := range rounds {
		step := w.send(w.running, caller.Call{Tool: "pay.charge", Arguments: raw(object{
			"order_id": "order-1", "amount": 5000 + i, "idempotency_key": fmt.Sprintf("charge:order-1:try-%d", i),
		})})
		w.is(step, "denied:forbidden")
		if _, again := toldToRepeat(step.Result.Texts); again {
			w.Errorf("%s is told to repeat what is not permitted: %q", a, step.Result.Texts)
		}
	}
	w.counted("order-1", 0, 0)
}

// f18 lets two hundred claims race for one operation, on two replicas.
func f18(w *world) {
	call := func(int) caller.Call { return charge("charge:order-1:first", "order-1", 100) }
	w.oneOf(w.together(200, call, w.running, w.replica()), committed, "in_progress|replay")
	w.counted("order-1", 1, 1)
}
