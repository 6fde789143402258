// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "bytes"

// carried are those of the marks by which an attempt that sends the snapshot can be
// found again. A rule may have been given its marks after the snapshot was frozen:
// what is written into the bytes of a call, and is not in these, never reaches the
// provider. A look-up would not find it, and would call the effect absent.
func (p *planter) carried(op *Operation, marks Marks) Marks {
	kept := marks
	if !travels(p.rule.Planting, op.Arguments, marks, marks.ProviderKey) {
		kept.ProviderKey = ""
	}
	if before := op.Current(); before != nil {
		kept.Marker, kept.ClientID = "", ""
		if before.Marks != nil {
			kept.Marker, kept.ClientID = before.Marks.Marker, before.Marks.ClientID
		}
		return kept
	}
	for _, mark := range []*string{&kept.Marker, &kept.ClientID} {
		if !travels(p.rule.Planting, op.Arguments, marks, *mark) {
			*mark = ""
		}
	}
	return kept
}

// travels reports whether a mark goes out with the snapshot: in its bytes, or, where
// the rule writes it into none, beside them.
func travels(planting *Planting, snapshot []byte, marks Marks, mark string) bool {
	if mark == "" || planting == nil || planting.Plant == nil || bytes.Contains(snapshot, []byte(mark)) {
		return true
	}
	planted, err := planting.Plant(snapshot, marks)
	return err == nil && !bytes.Contains(planted, []byte(mark))
}

// samePlace reports whether the attempt's provider key would be presented where the
// attempt presented it: in another header, or in bytes that were frozen without it,
// the provider does not know it again.
func samePlace(op *Operation, a *Attempt, rule Rule) bool {
	if a.KeyPlace != "" {
		return a.KeyPlace == rule.ProviderKey.Place
	}
	return travels(rule.Planting, op.Arguments, a.planted(), a.ProviderKey)
}
