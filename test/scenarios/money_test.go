// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"github.com/deed-run/deed/faultkit/provider"
)

// money are the parts of the failures with money that need no budget and no
// re-presentation.
func money() []story {
	rules := map[string]any{
		"wallet.pay": map[string]any{"effect": "non_idempotent", "matter": []any{"/order_id"}, "fingerprint": map[string]any{"exclude": []any{"/note", "/nonce"}}},
	}
	return []story{{id: "G01", setup: setup{tools: rules}, play: g01, agent: g01Agent}}
}

// g01 signs anew for the retry: another nonce, which must never reach the wallet.
func g01(w *world) {
	pay := func(nonce string) object { return object{"order_id": "order-1", "amount": 5, "nonce": nonce} }
	w.misbehave(provider.CommitDrop)
	w.call(keyed("wallet:order-1:first", "wallet.pay", pay("n1")), unknown)
	w.call(keyed("wallet:order-1:first", "wallet.pay", pay("n2")), "uncertain:outcome_unknown")
	w.call(keyed("wallet:order-1:again", "wallet.pay", pay("n3")), "uncertain:twin_unresolved")
	w.counted("order-1", 1, 1)
}

func g01Agent(w *world, a agent) {
	w.misbehave(provider.CommitDrop)
	w.leftUnconfirmed(w.pursue(a, intent{tool: "wallet.pay", subject: "order_id", op: "order-1"}))
	w.counted("order-1", 1, 1)
}
