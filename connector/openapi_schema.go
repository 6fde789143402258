// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"slices"
	"strings"
)

// Limits of a schema that is copied into a tool: what lies beyond them is any value.
const (
	schemaDepth = 12
	schemaSize  = 32 << 10
)

// resolve follows references within the document.
func (im *importer) resolve(t tree) tree {
	for range 16 {
		ref := t.at("$ref").str()
		if ref == "" {
			return t
		}
		path, local := strings.CutPrefix(ref, "#/")
		if !local {
			im.note("the reference %s leads out of the document and was not followed", ref)
			return tree{}
		}
		t = im.doc
		for _, name := range strings.Split(path, "/") {
			t = t.at(strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
		}
	}
	return tree{}
}

// dropped are members of a schema that say nothing about what is valid.
var dropped = []string{"example", "examples", "xml", "externalDocs", "discriminator", "deprecated", "nullable", "readOnly", "writeOnly", "$ref"}

// schema copies a schema with its references resolved. A schema that contains itself ends in any value, and so does one that is too deep or
// too large.
func (im *importer) schema(t tree, depth int, above []string) tree {
	anything := tree{names: []string{}}
	if ref := t.at("$ref").str(); ref != "" {
		if slices.Contains(above, ref) {
			im.cut = true
			return anything
		}
		above = append(slices.Clone(above), ref)
	}
	t = im.resolve(t)
	if depth > schemaDepth || im.size > schemaSize {
		im.cut = true
		return anything
	}
	if t.names == nil {
		if t.raw == "true" || t.raw == "false" {
			return t
		}
		return anything
	}
	out := tree{names: []string{}}
	for i, name := range t.names {
		if slices.Contains(dropped, name) || strings.HasPrefix(name, "x-") {
			continue
		}
		part := t.parts[i]
		switch name {
		case "properties", "patternProperties", "$defs", "definitions":
			inner := tree{names: []string{}}
			for j, property := range part.names {
				if part.parts[j].at("readOnly").isTrue() {
					continue
				}
				inner = inner.with(property, im.schema(part.parts[j], depth+1, above))
			}
			part = inner
		case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames":
			part = im.schema(part, depth+1, above)
		case "allOf", "anyOf", "oneOf", "prefixItems":
			list := tree{list: true}
			for _, option := range part.parts {
				list.parts = append(list.parts, im.schema(option, depth+1, above))
			}
			part = list
		case "description":
			part = textTree(firstSentence(part.str()))
		case "exclusiveMinimum", "exclusiveMaximum":
			// OpenAPI 3.0 has a truth value where JSON schema has the limit itself.
			if part.raw == "true" || part.raw == "false" {
				continue
			}
		}
		out = out.with(name, part)
		im.size += len(name) + len(part.raw) + len(part.str()) + 6
	}
	if kind := out.at("type"); t.at("nullable").isTrue() && kind.str() != "" {
		out = out.with("type", tree{list: true, parts: []tree{kind, textTree("null")}})
	}
	return out
}

// object is a schema as one of an object, with allOf merged; false where it is none.
func (im *importer) object(t tree) (properties tree, required []string, ok bool) {
	t = im.resolve(t)
	properties = tree{names: []string{}}
	parts := append([]tree{t}, t.at("allOf").parts...)
	for _, part := range parts {
		part = im.resolve(part)
		if kind := part.at("type").str(); kind != "" && kind != "object" || part.at("oneOf").list || part.at("anyOf").list {
			return tree{}, nil, false
		}
		own := part.at("properties")
		for i, name := range own.names {
			properties = properties.with(name, own.parts[i])
			ok = true
		}
		for _, name := range part.at("required").parts {
			required = append(required, name.str())
		}
	}
	return properties, required, ok
}

func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if i := strings.Index(text, ". "); i >= 0 {
		text = text[:i+1]
	}
	if runes := []rune(text); len(runes) > 200 {
		text = string(runes[:200]) + "..."
	}
	return text
}
