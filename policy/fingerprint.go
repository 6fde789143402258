// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"golang.org/x/text/unicode/norm"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/canon"
)

func fingerprintKeys() []key[deed.FingerprintRules] {
	type rules = deed.FingerprintRules
	list := func(name string, field func(*rules) *[]string) key[rules] {
		return key[rules]{name: name, read: func(d *decoder, at place, into *rules) { *field(into) = d.patterns(at) }}
	}
	return []key[rules]{
		list("include", func(r *rules) *[]string { return &r.Include }),
		list("exclude", func(r *rules) *[]string { return &r.Exclude }),
		list("require", func(r *rules) *[]string { return &r.Require }),
		{name: "defaults", read: func(d *decoder, at place, into *rules) { into.Defaults = d.defaultValues(at) }},
		list("null_is_absent", func(r *rules) *[]string { return &r.NullIsAbsent }),
		list("empty_is_absent", func(r *rules) *[]string { return &r.EmptyIsAbsent }),
		{name: "normalize", read: func(d *decoder, at place, into *rules) { into.Normalize = d.normalisers(at) }},
		{name: "unordered", read: func(d *decoder, at place, into *rules) { into.Unordered = d.unordered(at) }},
		{name: "numbers", initial: "exact", read: func(d *decoder, at place, into *rules) {
			word(d, at, &into.Numbers, "exact", "interop", "ieee754")
		}},
		{name: "unlisted", initial: "error", read: func(d *decoder, at place, into *rules) {
			word(d, at, &into.Unlisted, "error", "ignore")
		}},
		{name: "max_bytes", initial: "1048576", read: func(d *decoder, at place, into *rules) {
			d.count(at, canon.MaxMessageBytes, &into.MaxBytes)
		}},
	}
}

func (d *decoder) fingerprint(at place, into *deed.FingerprintRules) {
	before := len(d.found)
	block(d, at, fingerprintKeys(), into)
	if len(d.found) > before {
		return
	}
	_, err := canon.CompileWith(canon.Rules(*into), canonOptions())
	var refused *canon.Error
	if !errors.As(err, &refused) {
		return
	}
	rule, wrong, _ := strings.Cut(refused.Detail, ": ")
	where := d.inside(at, rule)
	if refused.Pointer != "" {
		where = d.inside(where, refused.Pointer)
	}
	d.refuseCanon(where, "", wrong)
}

// canonOptions brings what the fingerprint's own package leaves to others.
func canonOptions() canon.Options { return canon.Options{NFC: norm.NFC.String} }

// patterns reads pointers in which a whole segment may be *.
func (d *decoder) patterns(at place) []string {
	var list []string
	for _, item := range d.items(at, "pointers") {
		if text, ok := d.text(item); ok && d.slashed(item, text) {
			list = append(list, text)
		}
	}
	return list
}

// byPointer yields the entries of a mapping whose keys are pointers.
func (d *decoder) byPointer(at place) []entry {
	var list []entry
	for _, e := range d.entries(at) {
		if d.slashed(e.key, e.name) {
			list = append(list, e)
		}
	}
	return list
}

func (d *decoder) normalisers(at place) map[string][]string {
	names := []string{
		"decimal", "email_domain", "url", "instant", "lower", "upper", "trim", "collapse_space", "newlines", "uuid", "nfc", "digest",
	}
	all := map[string][]string{}
	for _, e := range d.byPointer(at) {
		for _, item := range d.items(e.value, "normalisers") {
			var one string
			if word(d, item, &one, names...); one != "" {
				all[e.name] = append(all[e.name], one)
			}
		}
		if _, list := e.value.node.(*ast.SequenceNode); list && all[e.name] == nil {
			all[e.name] = []string{}
		}
	}
	return all
}

func (d *decoder) unordered(at place) map[string]string {
	all := map[string]string{}
	for _, e := range d.byPointer(at) {
		var one string
		if word(d, e.value, &one, "set", "multiset"); one != "" {
			all[e.name] = one
		}
	}
	return all
}

func (d *decoder) defaultValues(at place) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for _, e := range d.byPointer(at) {
		if raw, ok := d.json(e.value); ok {
			all[e.name] = raw
		}
	}
	return all
}

// json turns a value of the file into JSON, numbers as they were written.
func (d *decoder) json(at place) (json.RawMessage, bool) {
	switch n := at.node.(type) {
	case *ast.NullNode:
		return json.RawMessage("null"), true
	case *ast.BoolNode:
		return json.RawMessage(strings.ToLower(at.node.GetToken().Value)), true
	case *ast.StringNode:
		raw, err := json.Marshal(n.Value)
		return raw, err == nil
	case *ast.LiteralNode:
		raw, err := json.Marshal(n.Value.Value)
		return raw, err == nil
	case *ast.IntegerNode, *ast.FloatNode:
		text, _ := written(at.node)
		if json.Valid([]byte(text)) {
			return json.RawMessage(text), true
		}
		d.refuse(at, text+" is no number of JSON", "write decimal digits")
		return nil, false
	case *ast.SequenceNode:
		out := []byte{'['}
		for i, item := range d.items(at, "values") {
			raw, ok := d.json(item)
			if !ok {
				return nil, false
			}
			out = append(append(out, ","[:min(i, 1)]...), raw...)
		}
		return append(out, ']'), true
	case *ast.MappingNode, *ast.MappingValueNode:
		return d.jsonObject(at)
	}
	d.wrongType(at, "a JSON value", "write a JSON value")
	return nil, false
}

func (d *decoder) jsonObject(at place) (json.RawMessage, bool) {
	out := []byte{'{'}
	for i, e := range d.entries(at) {
		name, err := json.Marshal(e.name)
		raw, ok := d.json(e.value)
		if !ok || err != nil {
			return nil, false
		}
		out = append(append(out, ","[:min(i, 1)]...), name...)
		out = append(append(out, ':'), raw...)
	}
	return append(out, '}'), true
}

// inside finds a key or a list element by its text below a place, to point at
// it; without one the place itself stands for it.
func (d *decoder) inside(at place, name string) place {
	if found, ok := d.written(at, name); ok {
		return found
	}
	if list, ok := at.node.(*ast.SequenceNode); ok {
		for i, v := range list.Values {
			if text, ok := written(v); ok && text == name {
				return d.items(at, "")[i]
			}
		}
	}
	return at
}
