// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/deed-run/deed"
)

// need reads one of the words that say whether a call must carry a key.
func (d *decoder) need(at place, into *deed.KeyRule) {
	if _, mapping := at.node.(*ast.MappingNode); mapping {
		d.refuse(at, "derives keys for every tool, and two tools seldom share an occurrence",
			"write key: {from: [...]} at each tool, and required, optional or runtime here")
		return
	}
	word(d, at, &into.Need, deed.NeedRequired, deed.NeedOptional, deed.NeedRuntime)
}

func keyRuleKeys() []key[deed.KeyRule] {
	return []key[deed.KeyRule]{
		{name: "from", read: func(d *decoder, at place, into *deed.KeyRule) { into.From = d.parts(at) }},
		{name: "before", read: func(d *decoder, at place, into *deed.KeyRule) { d.before(at, into) }},
	}
}

// keyRule reads a word, or a derivation.
func (d *decoder) keyRule(at place, into *deed.KeyRule) {
	switch at.node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
	default:
		if text, ok := written(at.node); ok {
			names := []string{string(deed.NeedRequired), string(deed.NeedOptional), string(deed.NeedRuntime)}
			if !slices.Contains(names, text) {
				d.unknownWord(at, text, append(names, "{from: [...]}"))
				return
			}
		}
		word(d, at, &into.Need, deed.NeedRequired, deed.NeedOptional, deed.NeedRuntime)
		return
	}
	before := len(d.found)
	rule := deed.KeyRule{Need: deed.NeedRequired}
	block(d, at, keyRuleKeys(), &rule)
	if len(d.found) == before && rule.From == nil {
		d.refuse(at, "derives a key from nothing", "write from: and the parts, such as [tenant, tool, meta.run, /order_id]")
	}
	*into = rule
}

func (d *decoder) before(at place, into *deed.KeyRule) {
	for _, item := range d.items(at, "earlier derivations") {
		if parts := d.parts(item); parts != nil {
			if slices.Equal(parts, into.From) {
				d.refuse(item, "is the derivation of from itself", "write what from was earlier, or remove it")
			}
			into.Before = append(into.Before, parts)
		}
	}
}

// parts reads the parts of a derived key. One of them must tell two wanted
// repeats apart, and the words for who and what cannot.
func (d *decoder) parts(at place) []string {
	const example = "such as meta.run or /order_id"
	var parts []string
	occurrence := false
	before := len(d.found)
	for _, item := range d.items(at, "parts") {
		text, ok := d.text(item)
		if !ok {
			continue
		}
		switch {
		case slices.Contains(parts, text):
			d.refuse(item, "part "+text+" is there already", "remove it")
		case text == "tenant" || text == "actor" || text == "tool":
		case strings.HasPrefix(text, "meta."):
			if strings.TrimPrefix(text, "meta.") == "" {
				d.refuse(item, "meta. lacks a name", "write meta.run")
			}
			occurrence = true
		case strings.HasPrefix(text, "/"):
			d.onePointer(item, text)
			occurrence = true
		default:
			d.unknownPart(item, text)
		}
		parts = append(parts, text)
	}
	if len(d.found) > before {
		return parts
	}
	switch {
	case len(parts) == 0:
		d.refuse(at, "has no parts", "write the parts of the key, "+example)
	case !occurrence:
		d.refuse(at, "has no part that differs between two wanted repeats", "add what names the occurrence, "+example)
	}
	return parts
}

func (d *decoder) unknownPart(at place, text string) {
	remedy := "write tenant, actor, tool, meta.<name> or a pointer such as /order_id"
	if near := nearest(text, []string{"tenant", "actor", "tool"}); near != "" {
		remedy = "write " + near + " instead"
	} else if plainName(text) {
		remedy = "write /" + text + " for the argument, or meta." + text + " for what the call's _meta says"
	}
	d.refuse(at, "unknown part "+text, remedy)
}
