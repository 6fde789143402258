// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package deed makes an agent's actions happen at most once per operation,
// with a receipt, or says that it does not know.
//
// It sits below whatever calls tools and above whatever the tools change. A
// caller names each intended action with a stable key; deed freezes what will
// be sent, writes it down durably, lets it be sent once, stores the receipt
// before anyone hears of success, and answers every repeat from the record:
// with the receipt (replay), with a conflict when the content changed, or
// with "uncertain" when nobody can know yet whether it happened.
//
// Start with [New] and [Runtime.Do]:
//
//	answer, err := rt.Do(ctx, deed.Call{
//		Principal: deed.Principal{Tenant: "acme", Actor: "support", Rights: []deed.Right{deed.RightCall}},
//		Tool:      "payments/refund",
//		Key:       deed.OperationKey("refund:order-1042:first"),
//		Arguments: []byte(`{"order_id":"1042","amount":12}`),
//	}, refund)
//
// A long-lived program also calls [Runtime.Recover] and [Runtime.Trim] now and
// then. Gateways, which dispatch by themselves, use [Runtime.Claim] and
// [Runtime.Settle], of which Do is made.
//
// The package holds the domain and nothing else: identities, the status
// machine, the decisions and the Runtime that drives them over a [Store]. It
// never opens a connection. Its files sort by duty: decide* are the pure
// decisions, state* alone move a status, claim* take one call from its arrival
// to its answer, lease*, budget*, planting* and reconcile* are what they say,
// operate* what people do.
//
// It does not promise exactly-once: where a tool
// honours no key and cannot be asked, a lost answer stays uncertain until a
// person or evidence settles it.
package deed
