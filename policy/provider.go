// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

// provider puts what the catalogue knows of a provider's operation into the
// entry, before any of the entry's own keys is read: those win, key by key.
func (d *decoder) provider(at place, into *Tool) {
	name, ok := d.text(at)
	if !ok {
		return
	}
	if into.Provider != "" {
		d.refuse(at, "inherits from an entry that inherits itself", "remove provider from the catalogue's entry")
		return
	}
	var source []byte
	if d.catalogue != nil {
		source, ok = d.catalogue(name)
	}
	if d.catalogue == nil || !ok {
		d.refuse(at, "the catalogue has no "+name, "run deed providers list, or write out what is known of it")
		return
	}
	into.Provider = name
	inner := &decoder{file: "provider " + name, env: func(string) string { return "" }, config: d.config, catalogue: d.catalogue}
	if root, ok := inner.document(source); ok {
		block(inner, root, toolKeys(), into)
	}
	d.found = append(d.found, inner.found...)
}
