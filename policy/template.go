// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// spot matches what may stand for a value: {marker}, {args./order_id}, which
// is {/order_id} for short. Other braces are text.
var spot = regexp.MustCompile(`\{(?:([a-z_]+)(\.[^{}\s]*)?|(/[^{}\s]*))\}`)

// template is a JSON value with places for values. A text that is one place
// takes the value as it is; within a longer text it becomes text.
type template struct {
	// raw is a value without places.
	raw json.RawMessage
	// literals stand around and between the places.
	literals []string
	places   []spotted
	list     []*template
	names    []string
	members  []*template
	kind     templateKind
	source   string
}

type templateKind int

const (
	templateRaw templateKind = iota
	templateText
	templateList
	templateObject
)

// spotted is one place: a name, and for args and item a pointer behind it.
type spotted struct{ name, pointer string }

func (s spotted) String() string {
	if s.pointer != "" {
		return s.name + "." + s.pointer
	}
	return s.name
}

// values finds what stands for a place.
type values func(spotted) (json.RawMessage, error)

// template reads a value in which the named places may stand; names that end
// with a dot take a pointer.
func (d *decoder) template(at place, names []string) *template {
	switch n := at.node.(type) {
	case *ast.SequenceNode:
		t := &template{kind: templateList}
		for _, item := range d.items(at, "values") {
			t.list = append(t.list, d.template(item, names))
		}
		return t
	case *ast.MappingNode, *ast.MappingValueNode:
		t := &template{kind: templateObject}
		for _, e := range d.entries(at) {
			t.names = append(t.names, e.name)
			t.members = append(t.members, d.template(e.value, names))
		}
		return t
	case *ast.StringNode:
		return d.textTemplate(at, n.Value, names)
	case *ast.LiteralNode:
		return d.textTemplate(at, n.Value.Value, names)
	}
	raw, _ := d.json(at)
	return &template{raw: raw}
}

func (d *decoder) textTemplate(at place, text string, names []string) *template {
	t := &template{kind: templateText, source: text}
	end := 0
	for _, m := range spot.FindAllStringSubmatchIndex(text, -1) {
		var s spotted
		var key string
		switch {
		case m[6] >= 0:
			s, key = spotted{varArgs, text[m[6]:m[7]]}, varArgs+"."
		case m[4] >= 0:
			s = spotted{text[m[2]:m[3]], text[m[4]+1 : m[5]]}
			key = s.name + "."
		default:
			s.name = text[m[2]:m[3]]
			key = s.name
		}
		if !slices.Contains(names, key) {
			d.unknownPlace(at, text[m[0]:m[1]], names)
			continue
		}
		if s.pointer != "" || strings.HasSuffix(key, ".") {
			if !d.slashed(at, s.pointer) || !d.onePointer(at, s.pointer) {
				continue
			}
		}
		t.literals = append(t.literals, text[end:m[0]])
		t.places = append(t.places, s)
		end = m[1]
	}
	t.literals = append(t.literals, text[end:])
	return t
}

func (d *decoder) unknownPlace(at place, text string, names []string) {
	var known []string
	for _, name := range names {
		if strings.HasSuffix(name, ".") {
			name += "/pointer"
		}
		known = append(known, "{"+name+"}")
	}
	if len(known) == 0 {
		d.refuse(at, text+" stands for nothing here", "write the text itself")
		return
	}
	remedy := "write " + listed(known, "or")
	if near := nearest(strings.Trim(text, "{}"), names); near != "" && !strings.HasSuffix(near, ".") {
		remedy = "write {" + near + "} instead"
	}
	d.refuse(at, text+" stands for nothing here", remedy)
}

// all lists the places of the template.
func (t *template) all() []spotted {
	if t == nil {
		return nil
	}
	list := slices.Clone(t.places)
	for _, inner := range slices.Concat(t.list, t.members) {
		list = append(list, inner.all()...)
	}
	return list
}

// fill puts values in the places.
func (t *template) fill(of values) (json.RawMessage, error) {
	switch t.kind {
	case templateText:
		return t.fillText(of)
	case templateList:
		out := []byte{'['}
		for i, inner := range t.list {
			value, err := inner.fill(of)
			if err != nil {
				return nil, err
			}
			out = append(append(out, ","[:min(i, 1)]...), value...)
		}
		return append(out, ']'), nil
	case templateObject:
		out := []byte{'{'}
		for i, inner := range t.members {
			name, err := json.Marshal(t.names[i])
			if err != nil {
				return nil, err
			}
			value, err := inner.fill(of)
			if err != nil {
				return nil, err
			}
			out = append(append(out, ","[:min(i, 1)]...), name...)
			out = append(append(out, ':'), value...)
		}
		return append(out, '}'), nil
	}
	return t.raw, nil
}

func (t *template) fillText(of values) (json.RawMessage, error) {
	if len(t.places) == 1 && t.literals[0] == "" && t.literals[1] == "" {
		return of(t.places[0])
	}
	var b strings.Builder
	for i, s := range t.places {
		b.WriteString(t.literals[i])
		raw, err := of(s)
		if err != nil {
			return nil, err
		}
		text, ok := plainText(raw)
		if !ok {
			return nil, fmt.Errorf("{%s} is a list or an object within a text", s)
		}
		b.WriteString(text)
	}
	b.WriteString(t.literals[len(t.places)])
	return quote(b.String()), nil
}

// plainText is a text, number or truth value as text.
func plainText(raw json.RawMessage) (string, bool) {
	var text string
	switch {
	case len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || string(raw) == "null":
		return "", false
	case raw[0] == '"':
		err := json.Unmarshal(raw, &text)
		return text, err == nil
	}
	return string(raw), true
}

// picked is the value of a place that points into a document.
func picked(doc []byte, s spotted) (json.RawMessage, error) {
	value, found, err := pick(doc, s.pointer)
	if err != nil {
		return nil, fmt.Errorf("{%s}: %w", s, err)
	}
	if !found {
		return nil, fmt.Errorf("there is nothing at {%s}", s)
	}
	return value, nil
}

// meaning is the template as JSON with its places in it.
func (t *template) meaning() string {
	if t == nil {
		return ""
	}
	raw, err := t.fill(func(s spotted) (json.RawMessage, error) { return quote("{" + s.String() + "}"), nil })
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
