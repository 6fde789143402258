// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"unicode"

	"github.com/deed-run/deed/api"
)

// object is a JSON object under construction; encoding/json sorts its members.
type object = map[string]any

// describe writes the OpenAPI 3.1 document of a table of routes.
func describe(table []route, build string) ([]byte, error) {
	schemas := &schemas{components: object{}}
	paths := map[string]object{}
	for _, r := range table {
		if paths[r.path] == nil {
			paths[r.path] = object{}
		}
		paths[r.path][strings.ToLower(r.method)] = r.describe(schemas)
	}
	doc := object{
		"openapi": "3.1.1",
		"info": object{
			"title": "deed", "version": build,
			"description": "At most one effect per operation, or the operation is flagged uncertain. Every request that is not 2xx is answered with a problem of RFC 9457.",
		},
		"paths":    paths,
		"security": []any{object{"bearer": []string{}}},
		"components": object{
			"schemas":         schemas.components,
			"securitySchemes": object{"bearer": object{"type": "http", "scheme": "bearer"}},
		},
	}
	out, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("server: describing the API: %w", err)
	}
	return append(out, '\n'), nil
}

var inPath = regexp.MustCompile(`\{([a-z]+)\}`)

func (r route) describe(schemas *schemas) object {
	op := object{"operationId": r.name(), "summary": r.summary}
	var parameters []object
	add := func(in, name, about string, required bool, schema object) {
		p := object{"name": name, "in": in, "schema": schema}
		if required {
			p["required"] = true
		}
		if about != "" {
			p["description"] = about
		}
		parameters = append(parameters, p)
	}
	for _, match := range inPath.FindAllStringSubmatch(r.path, -1) {
		add("path", match[1], "", true, object{"type": "string"})
	}
	for _, p := range r.query {
		add("query", p.name, p.about, false, p.schema())
	}
	for _, p := range r.headers {
		add("header", p.name, p.about, false, p.schema())
	}
	if parameters != nil {
		op["parameters"] = parameters
	}
	if r.request != nil {
		op["requestBody"] = object{"required": true, "content": content("application/json", schemas.of(reflect.TypeOf(r.request), true))}
	}
	responses := object{}
	for _, code := range r.codes {
		responses[fmt.Sprint(code)] = r.success(code, schemas)
	}
	problem := content("application/problem+json", schemas.of(reflect.TypeFor[api.Problem](), false))
	for _, code := range append([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError}, r.problems...) {
		responses[fmt.Sprint(code)] = object{"description": http.StatusText(code), "content": problem}
	}
	op["responses"] = responses
	return op
}

func (r route) success(code int, schemas *schemas) object {
	text := http.StatusText(code)
	headers := object{}
	_, call := r.response.(api.CallAnswer)
	_, claim := r.response.(api.ClaimAnswer)
	switch {
	case code == http.StatusAccepted:
		text = "It is stored and waits for a person"
		headers["Location"] = object{"schema": object{"type": "string"}, "description": "The operation"}
	case call || claim:
		headers["Idempotent-Replayed"] = object{
			"schema": object{"type": "string", "const": "true"}, "description": "The answer is recovered evidence; nothing was sent",
		}
	}
	response := object{"description": text, "content": content("application/json", schemas.of(reflect.TypeOf(r.response), false))}
	if len(headers) > 0 {
		response["headers"] = headers
	}
	return response
}

func content(kind string, schema object) object { return object{kind: object{"schema": schema}} }

func (p parameter) schema() object {
	schema := object{"type": "string"}
	if p.integer {
		schema = object{"type": "integer"}
	}
	if p.repeated {
		return object{"type": "array", "items": schema}
	}
	return schema
}

// name makes an operationId of method and path, such as postClaimsSettle.
func (r route) name() string {
	var b strings.Builder
	b.WriteString(strings.ToLower(r.method))
	for _, part := range strings.Split(strings.TrimPrefix(r.path, "/v1/"), "/") {
		part = strings.Trim(part, "{}")
		b.WriteRune(unicode.ToUpper(rune(part[0])))
		b.WriteString(part[1:])
	}
	return b.String()
}
