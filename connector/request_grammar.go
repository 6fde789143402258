// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"net/http"
	"net/textproto"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// requestFields is the grammar of a request, shared by tools and look-ups.
func requestFields[T any](of func(*T) *request) []field[T] {
	return []field[T]{
		{"method", func(r *reader, at place, t *T) {
			text, ok := r.text(at)
			switch {
			case !ok:
			case !slices.Contains(methods, text):
				r.refuse(at, text+" is no method that is known here", "write "+strings.Join(methods, ", "))
			default:
				of(t).method = text
			}
		}},
		{"path", func(r *reader, at place, t *T) { r.path(at, of(t)) }},
		{"query", func(r *reader, at place, t *T) { of(t).query = r.named(at) }},
		{"headers", func(r *reader, at place, t *T) {
			of(t).header = r.named(at)
			for _, h := range of(t).header {
				r.headerName(at, h.name)
			}
		}},
	}
}

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func (r *reader) path(at place, q *request) {
	text, ok := r.text(at)
	switch {
	case !ok:
		return
	case !strings.HasPrefix(text, "/"):
		r.refuse(at, "path "+text+" does not begin with /", "write /"+text)
		return
	case strings.ContainsAny(text, "?# \t\n"):
		r.refuse(at, "a path holds no query, fragment or space", "write parameters under query:")
		return
	}
	q.path = r.template(at, text, true)
	for _, literal := range q.path.literals {
		if strings.ContainsAny(literal, "{}") {
			r.refuse(at, "has a brace that encloses no name", "write {name} or {/a/b}")
			return
		}
	}
}

func (r *reader) named(at place) []named {
	var list []named
	for _, m := range r.members(at) {
		switch m.value.node.(type) {
		case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
			list = append(list, named{m.name, &template{literals: []string{m.value.node.GetToken().Value}}})
			continue
		}
		if text, ok := r.text(m.value); ok {
			list = append(list, named{m.name, r.template(m.value, text, true)})
		}
	}
	return list
}

var token = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// ownHeaders belong to the connection or would change what is proved about it.
var ownHeaders = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Expect", "Upgrade", "Te", "Trailer", "Accept-Encoding"}

func (r *reader) headerName(at place, name string) {
	switch {
	case !token.MatchString(name):
		r.refuse(at, name+" is no name of a header", "write letters, digits and dashes")
	case slices.Contains(ownHeaders, textproto.CanonicalMIMEHeaderKey(name)):
		r.refuse(at, name+" is set by the connection itself", "remove it")
	}
}

// body reads "json" and "form", which send every argument that stands nowhere else, or one of {json: ...}, {form: ...}, {text: ...} and
// {graphql: ..., variables: ...}.
func (r *reader) body(at place, q *request) {
	if text, ok := at.node.(*ast.StringNode); ok {
		switch text.Value {
		case "json", "form":
			q.body, q.rest = bodyKind(text.Value), true
		case "none":
		default:
			r.refuse(at, text.Value+" is no kind of body", "write json, form, none, or a block with json:, form:, text: or graphql:")
		}
		return
	}
	var b bodyBlock
	before := len(r.found)
	block(r, at, bodyFields, &b)
	if len(r.found) > before {
		return
	}
	if len(b.given) != 1 {
		r.refuse(at, "must say one kind of body", "write one of json:, form:, text: and graphql:")
		return
	}
	switch q.kind, q.arrays = b.kind, b.arrays; b.given[0] {
	case "json":
		q.body, q.content = bodyJSON, b.content
	case "form":
		q.body, q.content = bodyForm, b.content
		if q.content.names == nil {
			r.refuse(at, "a form is a block of keys", "write form: and keys below it")
		}
	case "text":
		q.body, q.content = bodyText, b.content
	case "graphql":
		q.body, q.graphql = bodyJSON, true
		query := &template{literals: []string{b.graphql}}
		q.content = tree{names: []string{"query"}, parts: []tree{{text: query}}}
		if b.variables != nil {
			q.content.names = append(q.content.names, "variables")
			q.content.parts = append(q.content.parts, *b.variables)
		}
	}
}

type bodyBlock struct {
	given     []string
	content   tree
	graphql   string
	variables *tree
	kind      string
	arrays    arrayStyle
}

var bodyFields = []field[bodyBlock]{
	bodyTree("json"),
	bodyTree("form"),
	{"text", func(r *reader, at place, b *bodyBlock) {
		if text, ok := r.text(at); ok {
			b.given, b.content = append(b.given, "text"), tree{text: r.template(at, text, true)}
		}
	}},
	{"graphql", func(r *reader, at place, b *bodyBlock) {
		if text, ok := r.text(at); ok {
			b.given, b.graphql = append(b.given, "graphql"), text
		}
	}},
	{"variables", func(r *reader, at place, b *bodyBlock) {
		t := r.tree(at, true)
		b.variables = &t
	}},
	textField("content_type", func(b *bodyBlock) *string { return &b.kind }),
	wordField("arrays", func(b *bodyBlock) *arrayStyle { return &b.arrays }, arraysIndexed, arraysEmpty, arraysRepeat),
}

func bodyTree(name string) field[bodyBlock] {
	return field[bodyBlock]{name, func(r *reader, at place, b *bodyBlock) {
		b.given, b.content = append(b.given, name), r.tree(at, true)
	}}
}
