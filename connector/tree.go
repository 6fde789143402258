// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// tree is a JSON value written in YAML, with the order and the numbers as they were written. A text in it may hold places for arguments.
type tree struct {
	// names has one entry per part of an object, and is nil for a list.
	names []string
	parts []tree
	list  bool
	// raw is a number, true, false or null; text a text.
	raw  string
	text *template
}

// tree reads any value; with places, its texts are templates.
func (r *reader) tree(at place, places bool) tree {
	switch n := at.node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		t := tree{names: []string{}}
		for _, m := range r.members(at) {
			t.names = append(t.names, m.name)
			t.parts = append(t.parts, r.tree(m.value, places))
		}
		return t
	case *ast.SequenceNode:
		t := tree{list: true}
		for i, v := range n.Values {
			t.parts = append(t.parts, r.tree(place{v, at.path + "[" + strconv.Itoa(i) + "]"}, places))
		}
		return t
	case *ast.NullNode:
		return tree{raw: "null"}
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode:
		raw := at.node.GetToken().Value
		if !json.Valid([]byte(raw)) {
			r.refuse(at, raw+" is no number of JSON", "write it in decimal, or in quotes as a text")
			return tree{raw: "null"}
		}
		return tree{raw: raw}
	case *ast.StringNode:
		return tree{text: r.template(at, n.Value, places)}
	case *ast.LiteralNode:
		return tree{text: r.template(at, n.Value.Value, places)}
	}
	r.wrongKind(at, "a value", "write a text, a number, a list or a block")
	return tree{raw: "null"}
}

// fill appends the value as JSON with the arguments in their places. A text that is nothing but one place takes the argument as it is,
// whatever its type; where there is none, there is nothing: false.
func (t tree) fill(out *bytes.Buffer, args arguments) (bool, error) {
	switch {
	case t.text != nil:
		raw, found, err := t.text.value(args)
		if err != nil || !found {
			return false, err
		}
		out.Write(raw)
	case t.names != nil:
		out.WriteByte('{')
		if err := t.fillParts(out, args); err != nil {
			return false, err
		}
		out.WriteByte('}')
	case t.list:
		out.WriteByte('[')
		if err := t.fillParts(out, args); err != nil {
			return false, err
		}
		out.WriteByte(']')
	default:
		out.WriteString(t.raw)
	}
	return true, nil
}

func (t tree) fillParts(out *bytes.Buffer, args arguments) error {
	first := true
	for i, part := range t.parts {
		before := out.Len()
		if !first {
			out.WriteByte(',')
		}
		if t.names != nil {
			out.Write(quoted(t.names[i]))
			out.WriteByte(':')
		}
		found, err := part.fill(out, args)
		if err != nil {
			return err
		}
		if !found {
			out.Truncate(before)
			continue
		}
		first = false
	}
	return nil
}

// places lists the pointers that the tree takes from the arguments.
func (t tree) places() []string {
	if t.text != nil {
		return t.text.places()
	}
	var list []string
	for _, part := range t.parts {
		list = append(list, part.places()...)
	}
	return list
}

// quoted is a JSON text without the escapes that only HTML needs.
func quoted(text string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(text)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
