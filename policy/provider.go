// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"slices"

	"github.com/deed-run/deed"
)

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
	if d.options.Catalogue != nil {
		source, ok = d.options.Catalogue(name)
	}
	if d.options.Catalogue == nil || !ok {
		d.refuse(at, "the catalogue has no "+name, "run deed providers list, or write out what is known of it")
		return
	}
	into.Provider = name
	d.inherit("provider "+name, source, into)
}

// inherit reads the block of an entry from elsewhere.
func (d *decoder) inherit(file string, source []byte, into *Tool) {
	inner := &decoder{file: file, env: func(string) string { return "" }, config: d.config, options: d.options}
	if root, ok := inner.document(source); ok {
		block(inner, root, toolKeys(), into)
	}
	d.found = append(d.found, inner.found...)
}

// describe asks what the description of a connector says of its tools.
func (d *decoder) describe(e entry, connector Connector) {
	if d.options.Describe == nil {
		return
	}
	tools, err := d.options.Describe(connector)
	if err != nil {
		d.refuse(e.key, "its description is refused: "+err.Error(), "mend the description")
		return
	}
	for name, source := range tools {
		d.config.described[deed.Tool(connector.Name+"/"+name)] = source
	}
}

// describedTools adds the tools of connectors that have no entry of their own.
func (d *decoder) describedTools(root place, config *Config) {
	for _, name := range slices.Sorted(maps.Keys(config.described)) {
		if _, written := config.Tools[name]; written {
			continue
		}
		tool := Tool{Terms: config.termsOf(name.Upstream()), Identity: deed.FamilyOperation, Scope: deed.ScopeTenant}
		d.inherit(described(name), config.described[name], &tool)
		e := entry{name: string(name), key: place{root.node, "connectors." + string(name)}, value: place{nil, "connectors." + string(name)}}
		d.checkTool(e, tool, tool.Terms)
		d.checkLookups(e, &tool, config, name.Upstream())
		config.Tools[name] = tool
	}
}

func described(name deed.Tool) string {
	return "connector " + name.Upstream() + ", tool " + name.Name()
}
