// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// place is a value of the file and the path of keys that leads to it.
type place struct {
	node ast.Node
	path string
}

func (p place) child(name string) string {
	if p.path == "" {
		return name
	}
	return p.path + "." + name
}

// entry is one key of a mapping with its value.
type entry struct {
	name  string
	key   place
	value place
}

// decoder walks the syntax tree of one file and collects what is wrong with
// it. Reading goes on after a problem, with the value left as it was.
type decoder struct {
	file  string
	data  []byte
	env   func(string) string
	found []Problem
	// meant are the paths of keys that were misspelt: what is missing for that
	// is told once, at the key.
	meant []string
	// config is what has been read so far: blocks are read in the order of their
	// table, and later ones look up what earlier ones declared.
	config  *Config
	options Options
	// readers are the tools that look-ups use, judged when all are read.
	readers []looking
}

func (d *decoder) refuse(at place, wrong, remedy string) {
	line, column := position(at.node)
	d.found = append(d.found, Problem{File: d.file, Line: line, Column: column, Key: at.path, Wrong: wrong, Remedy: remedy})
}

// undeclared refuses the name of something that none of the blocks declares,
// unless one of them was misspelt: then that is all that is wrong.
func (d *decoder) undeclared(at place, wrong, remedy string, blocks ...string) {
	if !slices.ContainsFunc(blocks, func(block string) bool { return slices.Contains(d.meant, block) }) {
		d.refuse(at, wrong, remedy)
	}
}

// position is where a value begins. The token of a block mapping is its first
// colon, so its first key stands for it.
func position(node ast.Node) (line, column int) {
	for {
		switch n := node.(type) {
		case *ast.MappingNode:
			if !n.IsFlowStyle && len(n.Values) > 0 {
				node = n.Values[0]
				continue
			}
		case *ast.MappingValueNode:
			node = n.Key
			continue
		}
		break
	}
	if node == nil || node.GetToken() == nil || node.GetToken().Position == nil {
		return 1, 1
	}
	at := node.GetToken().Position
	return at.Line, at.Column
}

// entries returns the keys of a mapping, or refuses the value. Of a key that
// is written twice the first counts and the second is refused.
func (d *decoder) entries(at place) []entry {
	var values []*ast.MappingValueNode
	switch n := at.node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		d.wrongType(at, "keys with values", "write keys below it, or remove the key")
		return nil
	}
	list := make([]entry, 0, len(values))
	lines := map[string]int{}
	for _, v := range values {
		name, ok := d.keyName(at, v.Key)
		if !ok {
			continue
		}
		e := entry{name: name, key: place{v.Key, at.child(name)}, value: place{v.Value, at.child(name)}}
		if first, twice := lines[name]; twice {
			d.refuse(e.key, fmt.Sprintf("is written twice, first in line %d", first), "remove one of the two")
			continue
		}
		lines[name], _ = position(v.Key)
		list = append(list, e)
	}
	return list
}

func (d *decoder) keyName(at place, key ast.MapKeyNode) (string, bool) {
	switch k := key.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return key.GetToken().Value, true
	case *ast.MergeKeyNode:
		d.refuse(place{key, at.path}, "merge keys are not read", "write the keys out")
	default:
		d.refuse(place{key, at.path}, "is no plain key", "write a name and a colon")
	}
	return "", false
}

// items returns the elements of a list, or refuses the value.
func (d *decoder) items(at place, of string) []place {
	list, ok := at.node.(*ast.SequenceNode)
	if !ok {
		remedy := "write [...]"
		if text, scalar := written(at.node); scalar && plainInList(text) {
			remedy = "write [" + text + "]"
		}
		d.wrongType(at, "a list of "+of, remedy)
		return nil
	}
	places := make([]place, 0, len(list.Values))
	for i, v := range list.Values {
		places = append(places, place{v, fmt.Sprintf("%s[%d]", at.path, i)})
	}
	return places
}

// text reads a string. A number or a boolean is none: what YAML makes of it is
// seldom what was typed.
func (d *decoder) text(at place) (string, bool) {
	switch n := at.node.(type) {
	case *ast.StringNode:
		if n.Value == "" {
			d.refuse(at, "is empty", "write a text, or remove the key")
			return "", false
		}
		return n.Value, true
	case *ast.LiteralNode:
		return strings.TrimSuffix(n.Value.Value, "\n"), true
	}
	remedy := "write a text"
	switch at.node.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		remedy = "write \"" + at.node.GetToken().Value + "\" in quotes"
	}
	d.wrongType(at, "a text", remedy)
	return "", false
}

// texts reads a list of strings.
func (d *decoder) texts(at place, of string) []string {
	var list []string
	for _, item := range d.items(at, of) {
		if text, ok := d.text(item); ok {
			list = append(list, text)
		}
	}
	return list
}

func (d *decoder) truth(at place, into *bool) {
	if n, ok := at.node.(*ast.BoolNode); ok {
		*into = n.Value
		return
	}
	d.wrongType(at, "true or false", "write true or false")
}

// wrongType refuses a value of another kind than was expected.
func (d *decoder) wrongType(at place, expected, remedy string) {
	if at.node == nil {
		d.refuse(at, "is empty where "+expected+" must stand", remedy)
		return
	}
	switch at.node.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		d.refuse(at, "anchors, aliases and tags are not read", "write the value itself")
		return
	case *ast.NullNode:
		d.refuse(at, "is empty where "+expected+" must stand", remedy)
		return
	}
	d.refuse(at, "is "+kindOf(at.node)+" where "+expected+" must stand", remedy)
}

// isBlock reports whether a value is a block of keys.
func isBlock(at place) bool {
	switch at.node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}

func kindOf(node ast.Node) string {
	switch node.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return "a text"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a block of keys"
	}
	return "something else"
}

// written is a scalar as it stands in the file.
func written(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return strings.TrimSpace(node.GetToken().Value), true
	}
	return "", false
}

// plainInList reports whether a text can stand in a flow list without quotes.
func plainInList(text string) bool {
	return text != "" && !strings.ContainsAny(text, "[]{},:#&*!|>'\"%@` ")
}

// quoted reports whether a scalar was written as a text on purpose.
func quoted(node ast.Node) bool {
	t := node.GetToken()
	return t != nil && (t.Type == token.DoubleQuoteType || t.Type == token.SingleQuoteType)
}
