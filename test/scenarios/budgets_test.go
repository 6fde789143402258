// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"sync"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

// budgets are the failures of limits that were read in one step and spent in
// another.
func budgets() []story {
	rules := map[string]any{"pay.charge": map[string]any{
		"effect": "non_idempotent", "receipt": receipt(), "budget": map[string]any{"name": "shop", "amount": "/amount", "currency": "EUR"},
	}}
	limit := map[string]any{"budgets": map[string]any{"shop": map[string]any{"limit": 100, "currency": "EUR"}}}
	return []story{
		{id: "G04", setup: setup{tools: rules, gateway: limit}, play: g04, only: func(p place) bool { return !p.stdio() && p.replicas == 2 }},
		{id: "G04 unresolved", setup: setup{tools: rules, gateway: limit}, play: g04Unresolved},
	}
}

// standing is a budget as the API and the command line show it.
type standing struct {
	Name, Held, Spent, Left string
}

// given is what a budget has given out, spent or held.
func (s standing) given() *big.Rat {
	sum := new(big.Rat)
	for _, text := range []string{s.Held, s.Spent} {
		if amount, ok := new(big.Rat).SetString(text); ok {
			sum.Add(sum, amount)
		}
	}
	return sum
}

// g04 lets thirty-two payments meet a limit for ten, while it is watched.
func g04(w *world) {
	ctx, stop := context.WithCancel(w.Context())
	watched := w.watchBudget(ctx)
	executed := 0
	for round := range 2 {
		for _, step := range w.together(16, func(i int) caller.Call {
			order := fmt.Sprintf("order-%d-%d", round, i)
			return charge("charge:"+order+":first", order, 10)
		}, w.running) {
			w.is(step, committed+"|denied:budget_exceeded")
			if step.String() == committed {
				executed++
			}
		}
	}
	stop()
	if most, samples := watched(); most.Cmp(big.NewRat(100, 1)) > 0 || samples == 0 {
		w.Errorf("in %d samples, %s of 100 were given out at once", samples, most.FloatString(2))
	}
	effects, err := w.fixture.Effects(w.Context(), provider.Selection{})
	w.must(err)
	if executed != 10 || len(effects) != 10 {
		w.Errorf("a limit for 10 payments let %d through, and the provider counts %d", executed, len(effects))
	}
}

// watchBudget samples the budget at every gateway until ctx ends.
func (w *world) watchBudget(ctx context.Context) (result func() (*big.Rat, int)) {
	most, samples := new(big.Rat), 0
	var watching sync.WaitGroup
	addresses := append([]string{w.gateway.Address}, w.addresses...)
	watching.Go(func() {
		for n := 0; ; n++ {
			resp, err := plain().Get("http://" + addresses[n%len(addresses)] + "/v1/budgets")
			if err == nil {
				var list struct{ Budgets []standing }
				if resp.StatusCode == http.StatusOK && json.NewDecoder(resp.Body).Decode(&list) == nil && len(list.Budgets) == 1 {
					samples++
					if given := list.Budgets[0].given(); given.Cmp(most) > 0 {
						most = given
					}
				}
				_ = resp.Body.Close()
			}
			if ctx.Err() != nil {
				return
			}
		}
	})
	return func() (*big.Rat, int) {
		watching.Wait()
		return most, samples
	}
}

// g04Unresolved holds the money of a payment of which nobody knows.
func g04Unresolved(w *world) {
	w.misbehave(provider.CommitDrop)
	lost := w.call(charge("charge:order-1:first", "order-1", 60), unknown)
	w.call(charge("charge:order-2:first", "order-2", 60), "denied:budget_exceeded")
	w.restart()
	w.call(charge("charge:order-2:first", "order-2", 60), "denied:budget_exceeded")
	w.counted("order-2", 0, 0)
	w.ops("resolve", lost.Result.Operation.ID, "--committed", "--remote-id", "pay_000001", "--reason", "seen at the provider")
	w.call(charge("charge:order-1:first", "order-1", 60), replay)
	w.call(charge("charge:order-2:first", "order-2", 60), "denied:budget_exceeded")
	w.call(charge("charge:order-3:first", "order-3", 40), committed)
	w.counted("order-1", 1, 1)
	w.counted("order-3", 1, 1)
}
