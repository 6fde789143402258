// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

func a12(w *world) {
	w.misbehave(provider.Commit5xx)
	w.call(charge("charge:order-1:first", "order-1", 100), unknown)
	w.call(charge("charge:order-1:first", "order-1", 100), "uncertain")
	w.counted("order-1", 1, 1)
}

func a12Agent(w *world, a agent) {
	w.misbehave(provider.Commit5xx)
	w.leftUnconfirmed(w.pursue(a, orderIntent("order-1")))
	w.counted("order-1", 1, 1)
}

func trusting() map[string]any {
	return with(business(), "pay.charge", map[string]any{
		"failed": []any{map[string]any{"text": "^Service unavailable$", "code": -32603, "retry_after": "1s"}},
	})
}

func a12Trusted(w *world) {
	w.misbehave(provider.RejectPrecommit)
	w.call(charge("charge:order-1:first", "order-1", 100), failed)
	w.counted("order-1", 1, 0)
	w.again(charge("charge:order-1:first", "order-1", 100), committed)
	w.counted("order-1", 2, 1)
}

func a12TrustedAgent(w *world, a agent) {
	w.misbehave(provider.RejectPrecommit)
	w.finished(w.pursue(a, orderIntent("order-1")))
	w.counted("order-1", 2, 1)
}

// again repeats a call for as long as it is told to come later.
func (w *world) again(c caller.Call, want string) {
	w.Helper()
	for {
		step := w.send(w.running, c)
		pause, told := toldToRepeat(step.Result.Texts)
		if !told || step.String() == failed {
			w.is(step, want)
			return
		}
		w.wait(pause)
	}
}
