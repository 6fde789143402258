// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/deed-run/deed"

// betterFinding says what would let deed find out about a lost answer.
func betterFinding(entry Tool, rule deed.Rule) []string {
	if rule.Effect == deed.EffectIdempotent {
		return nil
	}
	var better []string
	if p := entry.ProviderKey; p != nil && p.unsent {
		better = append(better, "its provider_key stands where nothing of this upstream travels ("+p.place()+"), so that it is not presented: write into: or meta: if the server takes it there")
	}
	switch {
	case entry.Reconcile == nil && rule.ProviderKey == nil:
		better = append(better, "write provider_key if it honours a key of its own, or marker and reconcile if another tool can find what it made: until then a lost answer goes to a person")
	case entry.Reconcile == nil && entry.plants():
		better = append(better, "write reconcile: what is planted is looked for by nobody")
	case entry.Reconcile != nil && rule.MaxProcessing == 0:
		better = append(better, "declare max_processing: without it, not finding an effect proves nothing")
	}
	if entry.Reconcile != nil && entry.Reconcile.result == nil {
		better = append(better, "write reconcile.result: a repeat is then answered with the result instead of a plain \"already done\"")
	}
	return better
}
