// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
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

// member is one key of a block with its value.
type member struct {
	name       string
	key, value place
}

// reader walks the syntax tree of one file and collects what is wrong with it. It goes on after a problem, with the value left as it was.
type reader struct {
	file  string
	line  int // of the first line of the source, in its file
	env   func(string) (string, bool)
	found []Problem
}

// parse returns the root of the source, nil when it is no YAML.
func (r *reader) parse(source []byte) ast.Node {
	file, err := parseYAML(source)
	switch {
	case err != nil:
		text, _, _ := strings.Cut(err.Error(), "\n")
		line, column := 1, 1
		if n, _ := fmt.Sscanf(text, "[%d:%d]", &line, &column); n == 2 {
			_, text, _ = strings.Cut(text, "] ")
		}
		r.add(line, column, "", "is no YAML: "+text, "correct the line")
	case len(file.Docs) == 0 || file.Docs[0].Body == nil:
		r.add(1, 1, "", "is empty", "write base_url: and tools:")
	case len(file.Docs) > 1:
		r.add(1, 1, "", "holds several documents", "keep one document")
	default:
		return file.Docs[0].Body
	}
	return nil
}

// parseYAML turns a panic of the YAML reader into an error: a description must never end the process.
func parseYAML(source []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("it cannot be read: %v", p)
		}
	}()
	return parser.ParseBytes(source, 0, parser.AllowDuplicateMapKey())
}

func (r *reader) add(line, column int, key, wrong, remedy string) {
	r.found = append(r.found, Problem{r.file, line + max(r.line, 1) - 1, column, key, wrong, remedy})
}

func (r *reader) refuse(at place, wrong, remedy string) {
	line, column := position(at.node)
	r.add(line, column, at.path, wrong, remedy)
}

// position is where a value begins: the token of a block mapping is its first colon, so its first key stands for it.
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

// members returns the keys of a block. Of a key that is written twice the first counts and the second is refused.
func (r *reader) members(at place) []member {
	var values []*ast.MappingValueNode
	switch n := at.node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		r.wrongKind(at, "keys with values", "write keys below it, or remove it")
		return nil
	}
	list := make([]member, 0, len(values))
	lines := map[string]int{}
	for _, v := range values {
		name, ok := r.keyName(at, v.Key)
		if !ok {
			continue
		}
		m := member{name, place{v.Key, at.child(name)}, place{v.Value, at.child(name)}}
		if first, twice := lines[name]; twice {
			r.refuse(m.key, fmt.Sprintf("is written twice, first in line %d", first+max(r.line, 1)-1), "remove one of the two")
			continue
		}
		lines[name], _ = position(v.Key)
		list = append(list, m)
	}
	return list
}

func (r *reader) keyName(at place, key ast.MapKeyNode) (string, bool) {
	switch k := key.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return key.GetToken().Value, true
	}
	r.refuse(place{key, at.path}, "is no plain key", "write a name and a colon; merge keys are not read")
	return "", false
}

func (r *reader) items(at place, of string) []place {
	list, ok := at.node.(*ast.SequenceNode)
	if !ok {
		r.wrongKind(at, "a list of "+of, "write [...]")
		return nil
	}
	places := make([]place, 0, len(list.Values))
	for i, v := range list.Values {
		places = append(places, place{v, fmt.Sprintf("%s[%d]", at.path, i)})
	}
	return places
}

// wrongKind refuses a value of another kind than was expected.
func (r *reader) wrongKind(at place, expected, remedy string) {
	kind := "something else"
	switch at.node.(type) {
	case nil, *ast.NullNode:
		r.refuse(at, "is empty where "+expected+" must stand", remedy)
		return
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		r.refuse(at, "anchors, aliases and tags are not read", "write the value itself")
		return
	case *ast.StringNode, *ast.LiteralNode:
		kind = "a text"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		kind = "a number"
	case *ast.BoolNode:
		kind = "true or false"
	case *ast.SequenceNode:
		kind = "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		kind = "a block of keys"
	}
	r.refuse(at, "is "+kind+" where "+expected+" must stand", remedy)
}

// field is one key that a block may hold. Tables of fields are the grammar.
type field[T any] struct {
	name string
	read func(r *reader, at place, into *T)
}

// block reads the keys of a mapping in the order of the table and refuses every other key.
func block[T any](r *reader, at place, fields []field[T], into *T) {
	members := r.members(at)
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
		if i := slices.IndexFunc(members, func(m member) bool { return m.name == f.name }); i >= 0 {
			f.read(r, members[i].value, into)
		}
	}
	for _, m := range members {
		if slices.Contains(names, m.name) {
			continue
		}
		remedy := "remove it, or write one of " + strings.Join(names, ", ")
		if near := nearest(m.name, names); near != "" {
			remedy = "write " + near + " instead"
		}
		r.refuse(m.key, "is not a key of this block", remedy)
	}
}
