// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"fmt"
	"net/http"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
)

// imported is one operation on its way into a description.
type imported struct {
	path       string
	query      []string
	headers    []string
	key        string
	body       string
	properties tree
	required   []string
}

var (
	simpleName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	keyHeaderName = regexp.MustCompile(`(?i)^(x-)?idempotency-key$`)
)

// placeFor is the place of an argument in a template.
func placeFor(name string) string {
	if simpleName.MatchString(name) {
		return "{" + name + "}"
	}
	return "{/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name) + "}"
}

func (im *importer) operation(path, method string, shared []tree, operation tree) {
	im.tool = im.name(operation, method, path)
	im.cut, im.size = false, 0
	op := &imported{path: path, properties: tree{names: []string{}}}
	for _, parameter := range parametersOf(im, shared, operation.at("parameters").parts) {
		if !im.parameter(op, parameter) {
			return
		}
	}
	if !im.requestBody(op, operation) {
		return
	}
	for _, found := range placeholder.FindAllStringSubmatch(op.path, -1) {
		name := firstName("/" + strings.TrimPrefix(found[1], "/"))
		if _, declared := op.properties.member(name); !declared {
			im.note("the document does not declare the path parameter %s, which was taken for a text", name)
			op.properties = op.properties.with(name, tree{names: []string{"type"}, parts: []tree{textTree("string")}})
			op.required = append(op.required, name)
		}
	}
	if strings.ContainsAny(placeholder.ReplaceAllString(op.path, ""), "{}?# ") || !strings.HasPrefix(op.path, "/") {
		im.note("left out: the path %s has a place that no parameter fills", path)
		return
	}
	im.write(op, method, operation)
}

// parametersOf are those of the path and of the operation, whose own come first.
func parametersOf(im *importer, shared, own []tree) []tree {
	var list []tree
	seen := map[string]bool{}
	for _, p := range append(slices.Clone(own), shared...) {
		p = im.resolve(p)
		id := p.at("in").str() + " " + p.at("name").str()
		if !seen[id] {
			list = append(list, p)
		}
		seen[id] = true
	}
	return list
}

// parameter takes one parameter; false leaves the operation out.
func (im *importer) parameter(op *imported, p tree) bool {
	name, required := p.at("name").str(), p.at("required").isTrue()
	if strings.ContainsAny(name, "{} \t\n") || name == "" {
		im.note("the parameter %q cannot be named in a template and was left out", name)
		return !required
	}
	schema := p.at("schema")
	if content := p.at("content"); len(content.parts) > 0 {
		im.note("the parameter %s is an encoded document: pass it as one text", name)
		schema = tree{names: []string{"type"}, parts: []tree{textTree("string")}}
	}
	switch in := p.at("in").str(); in {
	case "path":
		op.path = strings.ReplaceAll(op.path, "{"+name+"}", placeFor(name))
		required = true
	case "query":
		if style := p.at("style").str(); style != "" && style != "form" || im.resolve(schema).at("type").str() == "object" {
			im.note("the query parameter %s is an object or has the style %q, and was left out", name, style)
			return !required
		}
		if explode := p.at("explode"); explode.raw == "false" {
			im.note("the list %s is sent by repeating %s, where the document joins it", name, name)
		}
		op.query = append(op.query, quotedYAML(name)+": "+quotedYAML(placeFor(name)))
	case "header":
		switch canonical := textproto.CanonicalMIMEHeaderKey(name); {
		case keyHeaderName.MatchString(name):
			op.key = name
			im.note("it takes the key %s; for how long the provider keeps one is not in the document: add retention", name)
			return true
		case canonical == "Accept" || canonical == "Content-Type" || canonical == "Authorization":
			return true
		case !token.MatchString(name) || slices.Contains(ownHeaders, canonical):
			im.note("the header %s cannot be set and was left out", name)
			return !required
		}
		op.headers = append(op.headers, quotedYAML(name)+": "+quotedYAML(placeFor(name)))
	default:
		im.note("the %s parameter %s was left out", in, name)
		return !required
	}
	property := im.schema(schema, 0, nil)
	if text := firstSentence(p.at("description").str()); text != "" && property.names != nil && property.at("description").str() == "" {
		property = property.with("description", textTree(text))
	}
	op.properties = op.properties.with(name, property)
	if required {
		op.required = append(op.required, name)
	}
	return true
}

// requestBody takes the body; false leaves the operation out.
func (im *importer) requestBody(op *imported, operation tree) bool {
	body := im.resolve(operation.at("requestBody"))
	content := body.at("content")
	if len(content.names) == 0 {
		return true
	}
	kind, schema, found := bodyNone, tree{}, false
	for _, wanted := range []bodyKind{bodyJSON, bodyForm} {
		for i, name := range content.names {
			name, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(name)), ";")
			json := name == "application/json" || strings.HasSuffix(name, "+json")
			if !found && (wanted == bodyJSON && json || wanted == bodyForm && name == "application/x-www-form-urlencoded") {
				kind, schema, found = wanted, content.parts[i].at("schema"), true
			}
		}
	}
	if !found {
		im.note("left out: its body is none of JSON and form (%s)", strings.Join(content.names, ", "))
		return false
	}
	properties, required, isObject := im.object(schema)
	for _, name := range properties.names {
		_, taken := op.properties.member(name)
		isObject = isObject && !taken && !strings.Contains(name, "\n")
	}
	if isObject {
		op.body = string(kind)
		for i, name := range properties.names {
			if properties.parts[i].at("readOnly").isTrue() {
				continue
			}
			op.properties = op.properties.with(name, im.schema(properties.parts[i], 1, nil))
			if slices.Contains(required, name) {
				op.required = append(op.required, name)
			}
		}
		return true
	}
	if kind == bodyForm {
		im.note("left out: the names in its form are those of its parameters, or are not listed")
		return false
	}
	name := "body"
	for n := 2; ; n++ {
		if _, taken := op.properties.member(name); !taken {
			break
		}
		name = fmt.Sprintf("body_%d", n)
	}
	op.body = "{json: " + quotedYAML(placeFor(name)) + "}"
	op.properties = op.properties.with(name, im.schema(schema, 1, nil))
	op.required = append(op.required, name)
	return true
}

func (im *importer) write(op *imported, method string, operation tree) {
	im.names[im.tool] = true
	reads := method == http.MethodGet || method == http.MethodHead
	description := firstSentence(operation.at("summary").str())
	if description == "" {
		description = firstSentence(operation.at("description").str())
	}
	im.line("  %s:", quotedYAML(im.tool))
	if description != "" {
		im.line("    description: %s", quotedYAML(description))
	}
	im.line("    effect: %s", map[bool]string{true: "read_only", false: "non_idempotent"}[reads])
	im.line("    method: %s", method)
	im.line("    path: %s", quotedYAML(op.path))
	if len(op.query) > 0 {
		im.line("    query: {%s}", strings.Join(op.query, ", "))
	}
	if len(op.headers) > 0 {
		im.line("    headers: {%s}", strings.Join(op.headers, ", "))
	}
	if op.body != "" {
		im.line("    body: %s", op.body)
	}
	schema := tree{names: []string{"type", "properties"}, parts: []tree{textTree("object"), op.properties}}
	if len(op.required) > 0 {
		list := tree{list: true}
		for _, name := range op.required {
			list.parts = append(list.parts, textTree(name))
		}
		schema = schema.with("required", list)
	}
	im.line("    input: %s", schema.json())
	if im.cut {
		im.note("its schema is recursive, deep or large, and takes any value from there on")
	}
	if reads {
		return
	}
	if op.key != "" {
		im.line("    provider_key: {header: %s}", quotedYAML(op.key))
	}
	im.receipt(operation)
	if method == http.MethodPut || method == http.MethodDelete {
		im.note("declare effect: idempotent if sending it twice really ends in the same state")
	}
}

// receipt guesses by their names where a success tells the id and the address of what was made.
func (im *importer) receipt(operation tree) {
	responses := operation.at("responses")
	for _, status := range []string{"201", "200", "202", "2XX", "default"} {
		content := im.resolve(responses.at(status)).at("content")
		for i, kind := range content.names {
			if !strings.Contains(kind, "json") {
				continue
			}
			properties, _, _ := im.object(content.parts[i].at("schema"))
			prefix := ""
			if inner, _, ok := im.object(properties.at("data")); ok && properties.at("id").names == nil {
				properties, prefix = inner, "/data"
			}
			var parts []string
			for _, wanted := range [][]string{{"id", "id", "uuid", "key"}, {"url", "html_url", "web_url", "url", "self", "href"}} {
				for _, name := range wanted[1:] {
					if _, ok := properties.member(name); ok {
						parts = append(parts, wanted[0]+": "+quotedYAML(prefix+"/"+name))
						break
					}
				}
			}
			if len(parts) > 0 {
				im.line("    receipt: {%s}", strings.Join(parts, ", "))
				im.note("where its receipt stands was guessed by the names in its answer")
				return
			}
		}
	}
	im.note("its answer names no id: write receipt: {id: ...} where you know it")
}
