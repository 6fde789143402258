// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"bytes"
	"slices"
	"strings"
)

// schema reads an input schema, which MCP wants to be one of an object.
func (r *reader) schema(at place) []byte {
	t := r.tree(at, false)
	if t.names == nil {
		r.refuse(at, "is no schema of an object", "write type: object and properties:")
		return nil
	}
	i := slices.Index(t.names, "type")
	if i < 0 {
		t.names = append([]string{"type"}, t.names...)
		t.parts = append([]tree{{text: &template{literals: []string{"object"}}}}, t.parts...)
	} else if t.parts[i].text == nil || t.parts[i].text.literals[0] != "object" {
		r.refuse(at, "has another type than object", "write type: object")
		return nil
	}
	var out bytes.Buffer
	_, _ = t.fill(&out, arguments("{}"))
	return out.Bytes()
}

// schemaOf is the schema of a tool that declares none: the arguments that its request uses, of which those in its path are required. Their
// kinds are not known.
func schemaOf(q *request, planted ...string) []byte {
	var names, required []string
	for _, pointer := range q.places() {
		if pointer != "" && !slices.Contains(planted, pointer) {
			names = append(names, firstName(pointer))
		}
	}
	for _, pointer := range q.path.places() {
		required = append(required, string(quoted(firstName(pointer))))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for i, name := range names {
		names[i] = string(quoted(name)) + ":{}"
	}
	schema := `{"type":"object","properties":{` + strings.Join(names, ",") + `}`
	if len(required) > 0 {
		schema += `,"required":[` + strings.Join(required, ",") + `]`
	}
	return []byte(schema + `}`)
}

// firstName is the argument that a pointer leads into.
func firstName(pointer string) string {
	name, _, _ := strings.Cut(pointer[1:], "/")
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
}
