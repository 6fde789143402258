// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// decoder reads one mapping after another and collects what is wrong.
type decoder struct {
	file  string
	line  int // of the first line of the source within the file
	env   func(string) string
	found []Problem
}

// value is a node and the path of keys that leads to it.
type value struct {
	node ast.Node
	path string
}

// field reads one key of a mapping.
type field func(d *decoder, v value)

func (d *decoder) refuse(v value, wrong, remedy string) {
	line, column := 1, 1
	node := v.node
	switch n := node.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 && !n.IsFlowStyle {
			node = n.Values[0].Key
		}
	case *ast.MappingValueNode:
		node = n.Key
	}
	if node != nil && node.GetToken() != nil && node.GetToken().Position != nil {
		line, column = node.GetToken().Position.Line, node.GetToken().Position.Column
	}
	d.found = append(d.found, Problem{File: d.file, Line: d.line + line - 1, Column: column, Key: v.path, Wrong: wrong, Remedy: remedy})
}

// block reads a mapping with these keys and no others; required keys must be there.
func (d *decoder) block(v value, fields map[string]field, required ...string) {
	var pairs []*ast.MappingValueNode
	switch n := v.node.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		d.refuse(v, "keys with values must stand here", "write keys below it")
		return
	}
	seen := map[string]bool{}
	for _, pair := range pairs {
		name := pair.Key.GetToken().Value
		path := strings.TrimPrefix(v.path+"."+name, ".")
		read, known := fields[name]
		switch {
		case pair.Key.Type() == ast.MergeKeyType:
			d.refuse(value{pair.Key, v.path}, "merge keys are not read", "write the keys out")
		case !known:
			d.refuse(value{pair.Key, path}, "there is no such key", "remove it, or write one of "+names(fields))
		case seen[name]:
			d.refuse(value{pair.Key, path}, "is written twice", "remove one of the two")
		default:
			seen[name] = true
			read(d, value{pair.Value, path})
		}
	}
	for _, name := range required {
		if !seen[name] {
			d.refuse(value{v.node, strings.TrimPrefix(v.path+"."+name, ".")}, "is missing", "write it")
		}
	}
}

// text reads a string into a variable; ${NAME} in it is replaced from the environment.
func text(into *string) field {
	return func(d *decoder, v value) {
		raw, ok := scalar(v.node)
		if !ok {
			d.refuse(v, "a text must stand here", "write a text")
			return
		}
		if expanded, ok := d.expand(v, raw); ok {
			*into = expanded
		}
	}
}

// written is text that keeps also what stands in the file.
func written(into, source *string) field {
	return func(d *decoder, v value) {
		*source, _ = scalar(v.node)
		text(into)(d, v)
	}
}

// word reads one of several words.
func word(into *string, words ...string) field {
	return func(d *decoder, v value) {
		text(into)(d, v)
		for _, w := range words {
			if *into == w {
				return
			}
		}
		d.refuse(v, fmt.Sprintf("%q is none of its words", *into), "write one of "+strings.Join(words, ", "))
	}
}

func scalar(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, n.Value != ""
	case *ast.LiteralNode:
		return strings.TrimSuffix(n.Value.Value, "\n"), true
	}
	return "", false
}

// texts reads a list of strings.
func texts(into *[]string) field {
	return func(d *decoder, v value) {
		each(func(d *decoder, v value) {
			var one string
			text(&one)(d, v)
			*into = append(*into, one)
		})(d, v)
	}
}

// each reads the elements of a list that is not empty.
func each(read field) field {
	return func(d *decoder, v value) {
		list, ok := v.node.(*ast.SequenceNode)
		if !ok || len(list.Values) == 0 {
			d.refuse(v, "a list must stand here", "write [...] with at least one element")
			return
		}
		for i, node := range list.Values {
			read(d, value{node, fmt.Sprintf("%s[%d]", v.path, i)})
		}
	}
}

// number reads a whole number within bounds.
func number(into *int, least, most int) field {
	return func(d *decoder, v value) {
		n, err := strconv.Atoi(v.node.GetToken().Value)
		if _, ok := v.node.(*ast.IntegerNode); !ok || err != nil || n < least || n > most {
			d.refuse(v, "a whole number must stand here", fmt.Sprintf("write a number from %d to %d", least, most))
			return
		}
		*into = n
	}
}

// duration reads a duration with its unit.
func duration(into *time.Duration, least time.Duration) field {
	return func(d *decoder, v value) {
		raw, _ := scalar(v.node)
		parsed, err := time.ParseDuration(raw)
		if err != nil || parsed < least {
			d.refuse(v, "a duration of at least "+least.String()+" must stand here", "write a number and a unit, such as 10m")
			return
		}
		*into = parsed
	}
}

// bytesOf reads a size such as 25MiB.
func bytesOf(into *int64) field {
	return func(d *decoder, v value) {
		raw, _ := scalar(v.node)
		for unit, factor := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
			if n, err := strconv.ParseInt(strings.TrimSuffix(raw, unit), 10, 32); err == nil && strings.HasSuffix(raw, unit) && n > 0 && n*factor <= 1<<30 {
				*into = n * factor
				return
			}
		}
		d.refuse(v, "a size of at most 1GiB must stand here", "write a number and a unit, such as 25MiB")
	}
}

// expand replaces ${NAME}; a literal ${ is written $${.
func (d *decoder) expand(v value, raw string) (string, bool) {
	var b strings.Builder
	rest := raw
	for {
		before, after, found := strings.Cut(rest, "${")
		if !found {
			b.WriteString(rest)
			return b.String(), true
		}
		if strings.HasSuffix(before, "$") {
			b.WriteString(strings.TrimSuffix(before, "$") + "${")
			rest = after
			continue
		}
		b.WriteString(before)
		name, tail, closed := strings.Cut(after, "}")
		replacement := ""
		if closed && name != "" {
			replacement = d.env(name)
		}
		if replacement == "" {
			d.refuse(v, "variable ${"+name+"} is not set, or empty", "set it in the environment of deed, or write $${ for the characters themselves")
			return "", false
		}
		b.WriteString(replacement)
		rest = tail
	}
}
