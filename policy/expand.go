// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Value is a text of the file in which variables may have been replaced.
type Value struct {
	// Text is the value to use. Do not print it when Secret is set.
	Text string
	// Source is the text as it was written, with its ${VAR}.
	Source string
	// Secret: a variable is part of it.
	Secret bool
}

// String returns the text as it was written, so that printing a configuration
// shows no secret.
func (v Value) String() string { return v.Source }

// GoString is String.
func (v Value) GoString() string { return v.Source }

// MarshalText is String: a configuration written as JSON shows no secret.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.Source), nil }

// Literal is a Value without variables.
func Literal(text string) Value { return Value{Text: text, Source: text} }

// expanded reads a text and replaces ${VAR}. A literal ${ is written $${.
func (d *decoder) expanded(at place) (Value, bool) {
	text, ok := d.text(at)
	if !ok {
		return Value{}, false
	}
	return d.expand(at, text)
}

// scalar is expanded for places where a number is as good as a text, such as
// an argument of a command.
func (d *decoder) scalar(at place) (Value, bool) {
	switch at.node.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		text, _ := written(at.node)
		return Literal(text), true
	case *ast.StringNode:
		if text, _ := written(at.node); text == "" && quoted(at.node) {
			return Literal(""), true
		}
	}
	return d.expanded(at)
}

func (d *decoder) expand(at place, text string) (Value, bool) {
	value := Value{Source: text}
	var b strings.Builder
	rest := text
	for {
		before, after, found := strings.Cut(rest, "${")
		if !found {
			b.WriteString(rest)
			break
		}
		if strings.HasSuffix(before, "$") {
			b.WriteString(strings.TrimSuffix(before, "$") + "${")
			rest = after
			continue
		}
		b.WriteString(before)
		name, tail, closed := strings.Cut(after, "}")
		if !closed || !variableName(name) {
			d.refuse(at, "${ does not begin the name of a variable", "write ${NAME}, or $${ for the characters themselves")
			return Value{}, false
		}
		replacement := d.env(name)
		if replacement == "" {
			d.refuse(at, "variable "+name+" is not set, or empty", "set it in the environment of deed, or write the value")
			return Value{}, false
		}
		b.WriteString(replacement)
		value.Secret = true
		rest = tail
	}
	value.Text = b.String()
	return value, true
}

func variableName(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
