// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/deed-run/deed"

func toolKeys() []key[Tool] {
	keys := []key[Tool]{
		{name: "provider", read: func(d *decoder, at place, into *Tool) { d.provider(at, into) }},
		{name: "effect", read: func(d *decoder, at place, into *Tool) {
			word(d, at, &into.Effect, deed.EffectReadOnly, deed.EffectIdempotent, deed.EffectNonIdempotent)
		}},
		{
			name:  "key",
			read:  func(d *decoder, at place, into *Tool) { d.keyRule(at, &into.Key) },
			below: below(".", keyRuleKeys),
		},
		{name: "identity", initial: "operation", read: func(d *decoder, at place, into *Tool) {
			word(d, at, &into.Identity, deed.FamilyOperation, deed.FamilyCreation, deed.FamilySecret)
		}},
		{name: "scope", initial: "tenant", read: func(d *decoder, at place, into *Tool) {
			word(d, at, &into.Scope, deed.ScopeTenant, deed.ScopeActor)
		}},
		{name: "matter", read: func(d *decoder, at place, into *Tool) { into.Matter = d.pointers(at) }},
		{
			name:  "fingerprint",
			read:  func(d *decoder, at place, into *Tool) { d.fingerprint(at, &into.Fingerprint) },
			below: below(".", fingerprintKeys),
		},
		{
			name:  "deny",
			read:  func(d *decoder, at place, into *Tool) { into.Deny = d.denyRules(at) },
			below: below(".", denyKeys),
		},
		{
			name:  "twins",
			read:  func(d *decoder, at place, into *Tool) { block(d, at, twinKeys(), into) },
			below: below(".", twinKeys),
		},
		{
			name:  "receipt",
			read:  func(d *decoder, at place, into *Tool) { d.receipt(at, &into.Receipt) },
			below: below(".", receiptKeys),
		},
		{
			name:  "failed",
			read:  func(d *decoder, at place, into *Tool) { into.Failed = d.failedRules(at) },
			below: below("[].", failedKeys),
		},
		{
			name:  "approval",
			read:  func(d *decoder, at place, into *Tool) { d.approval(at, &into.Approval) },
			below: below(".", approvalKeys),
		},
		{
			name:  "budget",
			read:  func(d *decoder, at place, into *Tool) { d.spend(at, &into.Spend) },
			below: below(".", spendKeys),
		},
		{
			name:  "marker",
			read:  func(d *decoder, at place, into *Tool) { d.marker(at, &into.Marker) },
			below: below(".", markerKeys),
		},
		{
			name:  "client_id",
			read:  func(d *decoder, at place, into *Tool) { d.clientID(at, &into.ClientID) },
			below: below(".", clientIDKeys),
		},
		{
			name:  "provider_key",
			read:  func(d *decoder, at place, into *Tool) { d.providerKey(at, &into.ProviderKey) },
			below: below(".", providerKeyKeys),
		},
		{name: "max_processing", read: func(d *decoder, at place, into *Tool) { d.duration(at, &into.MaxProcessing) }},
		{
			name:  "reconcile",
			read:  func(d *decoder, at place, into *Tool) { d.reconcile(at, &into.Reconcile) },
			below: below(".", reconcileKeys),
		},
		{
			name:  "resource",
			read:  func(d *decoder, at place, into *Tool) { d.resource(at, &into.Resource) },
			below: below(".", resourceKeys),
		},
		{
			name:  "revision",
			read:  func(d *decoder, at place, into *Tool) { d.subject(at, &into.Subject) },
			below: below(".", subjectKeys),
		},
	}
	return append(keys, termKeys(
		func(into *Tool) *Terms { return &into.Terms },
		func(string) string { return "" },
	)...)
}

func twinKeys() []key[Tool] {
	return []key[Tool]{
		{name: "executing", initial: "wait", read: func(d *decoder, at place, into *Tool) {
			answer := "wait"
			word(d, at, &answer, "wait", "allow")
			into.TwinsExecuting = answer == "allow"
		}},
		{name: "within", read: func(d *decoder, at place, _ *Tool) {
			d.refuse(at, "is for requests without a key, and a tool's calls carry one", "write it at a route, or remove it")
		}},
	}
}
