// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// maxSchemaDepth and maxSchemaSteps bound how deep and how long a schema is followed; schemas may refer to themselves, several times over.
const (
	maxSchemaDepth = 32
	maxSchemaSteps = 20000
)

// filled returns the arguments as the upstream may come to see them: the schema's defaults stand where the caller left members out, and
// numbers in text are numbers where the schema wants such. Conditions of consent are put to these, so that nothing slips past a condition by
// what it leaves out or by how it is written. They are never sent. What cannot be read is returned as it is.
func (s *schema) filled(arguments []byte) []byte {
	if s == nil || s.raw == nil {
		return arguments
	}
	f := &filler{root: s.raw, defaults: true}
	return f.fill(s.raw, arguments, 0)
}

// coerced is filled without defaults.
func (s *schema) coerced(arguments []byte) []byte {
	f := &filler{root: s.raw}
	return f.fill(s.raw, arguments, 0)
}

// filler walks a value along its schema.
type filler struct {
	root     json.RawMessage
	defaults bool
	steps    int
}

// tired reports that the schema has been followed for long enough.
func (f *filler) tired(depth int) bool {
	f.steps++
	return depth > maxSchemaDepth || f.steps > maxSchemaSteps
}

func (f *filler) fill(schema, value json.RawMessage, depth int) json.RawMessage {
	if f.tired(depth) || !rawjson.IsObject(schema) {
		return value
	}
	if target, ok := f.referred(schema); ok {
		value = f.fill(target, value, depth+1)
	}
	if all, ok := rawjson.Get(schema, "allOf"); ok {
		for _, part := range elements(all) {
			value = f.fill(part, value, depth+1)
		}
	}
	switch {
	case len(value) == 0:
		return value
	case value[0] == '"':
		return f.scalar(schema, value, depth)
	case value[0] == '[':
		return f.items(schema, value, depth)
	case value[0] == '{':
		return f.properties(schema, value, depth)
	}
	return value
}

// referred follows a reference inside the schema (JSON Schema 2020-12 section 8.2.3.1, pointers only).
func (f *filler) referred(schema json.RawMessage) (json.RawMessage, bool) {
	ref, ok := rawjson.Text(schema, "$ref")
	if ok && ref == "#" {
		return f.root, true
	}
	pointer, local := strings.CutPrefix(ref, "#/")
	if !ok || !local {
		return nil, false
	}
	parts := strings.Split(pointer, "/")
	for i, part := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}
	return rawjson.Get(f.root, parts...)
}

func (f *filler) properties(schema, value json.RawMessage, depth int) json.RawMessage {
	properties, ok := rawjson.Get(schema, "properties")
	if !ok {
		return f.alternatives(schema, value, depth)
	}
	members, err := rawjson.Members(properties)
	if err != nil {
		return value
	}
	out := value
	for _, m := range members {
		property := m.Value(properties)
		present, has := rawjson.Get(out, m.Name)
		if !has {
			if present, has = f.defaultOf(property, depth); !has {
				continue
			}
		}
		if with, err := rawjson.Set(out, f.fill(property, present, depth+1), m.Name); err == nil {
			out = with
		}
	}
	return f.alternatives(schema, out, depth)
}

// alternatives takes the way of an anyOf or oneOf that is the only one for an object.
func (f *filler) alternatives(schema, value json.RawMessage, depth int) json.RawMessage {
	var objects []json.RawMessage
	for _, part := range alternatives(schema) {
		if f.wants(part, "object", depth) {
			objects = append(objects, part)
		}
	}
	if len(objects) == 1 {
		return f.fill(objects[0], value, depth+1)
	}
	return value
}

func (f *filler) defaultOf(property json.RawMessage, depth int) (json.RawMessage, bool) {
	if !f.defaults || f.tired(depth) {
		return nil, false
	}
	if value, ok := rawjson.Get(property, "default"); ok {
		return value, true
	}
	if target, ok := f.referred(property); ok {
		return f.defaultOf(target, depth+1)
	}
	if all, ok := rawjson.Get(property, "allOf"); ok {
		for _, part := range elements(all) {
			if value, ok := f.defaultOf(part, depth+1); ok {
				return value, true
			}
		}
	}
	return nil, false
}

func (f *filler) items(schema, value json.RawMessage, depth int) json.RawMessage {
	items, ok := rawjson.Get(schema, "items")
	if !ok {
		return value
	}
	out, err := rawjson.EditElements(value, func(_ int, element json.RawMessage) (json.RawMessage, error) {
		return f.fill(items, element, depth+1), nil
	})
	if err != nil {
		return value
	}
	return out
}

// numeral is a number as lenient readers take it from text.
var numeral = regexp.MustCompile(`^[+]?(-?)0*([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)$`)

// scalar turns text into the number or truth value that the schema wants.
func (f *filler) scalar(schema, value json.RawMessage, depth int) json.RawMessage {
	text, ok := rawjson.String(value)
	if !ok {
		return value
	}
	text = strings.ReplaceAll(strings.TrimSpace(text), "_", "")
	if f.wants(schema, "number", depth) || f.wants(schema, "integer", depth) {
		if m := numeral.FindStringSubmatch(text); m != nil {
			return json.RawMessage(m[1] + m[2])
		}
	}
	if f.wants(schema, "boolean", depth) {
		switch lower := strings.ToLower(text); lower {
		case "true", "false":
			return json.RawMessage(lower)
		}
	}
	return value
}

// wants reports whether the schema, or one of its alternatives, names the type.
func (f *filler) wants(schema json.RawMessage, kind string, depth int) bool {
	if f.tired(depth) {
		return false
	}
	if target, ok := f.referred(schema); ok && f.wants(target, kind, depth+1) {
		return true
	}
	if named, ok := rawjson.Get(schema, "type"); ok {
		if text, ok := rawjson.String(named); ok {
			return text == kind
		}
		for _, one := range elements(named) {
			if text, _ := rawjson.String(one); text == kind {
				return true
			}
		}
		return false
	}
	for _, part := range alternatives(schema) {
		if f.wants(part, kind, depth+1) {
			return true
		}
	}
	return false
}

func alternatives(schema json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	for _, word := range [...]string{"anyOf", "oneOf"} {
		if parts, ok := rawjson.Get(schema, word); ok {
			list = append(list, elements(parts)...)
		}
	}
	return list
}

func elements(array json.RawMessage) []json.RawMessage {
	list, err := rawjson.Elements(array)
	if err != nil {
		return nil
	}
	return list
}
