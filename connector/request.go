// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// named is a query parameter or a header.
type named struct {
	name  string
	value *template
}

// bodyKind says how a body is encoded.
type bodyKind string

const (
	bodyNone bodyKind = ""
	bodyJSON bodyKind = "json"
	bodyForm bodyKind = "form"
	bodyText bodyKind = "text"
)

// request makes HTTP requests out of arguments. It is made by Load and never changes.
type request struct {
	method string
	path   *template
	query  []named
	header []named
	body   bodyKind
	// rest sends every argument that stands nowhere else; otherwise content does.
	rest    bool
	content tree
	kind    string // Content-Type, where it is not the usual one
	arrays  arrayStyle
	key     carrier
	graphql bool
}

// built is a request ready to be sent.
type built struct {
	method, target string
	header         http.Header
	body           []byte
}

// maxRequest bounds a request's body.
const maxRequest = 16 << 20

// build fills the arguments in. An error says that nothing can be sent for them.
func (q *request) build(args arguments, providerKey string) (built, error) {
	out := built{method: q.method, header: http.Header{}}
	path, err := q.path.expand(args, segment)
	if err != nil {
		return built{}, fmt.Errorf("path: %w", err)
	}
	out.target = path
	query, err := q.parameters(args, providerKey)
	if err != nil {
		return built{}, err
	}
	if query != "" {
		out.target += "?" + query
	}
	for _, h := range q.header {
		text, err := h.value.expand(args, headerText)
		switch {
		case errors.Is(err, errMissing):
			continue
		case err != nil:
			return built{}, fmt.Errorf("header %s: %w", h.name, err)
		}
		out.header.Set(h.name, text)
	}
	if q.key.header != "" && providerKey != "" {
		out.header.Set(q.key.header, providerKey)
	}
	if err := q.encode(&out, args, providerKey); err != nil {
		return built{}, err
	}
	if len(out.body) > maxRequest {
		return built{}, fmt.Errorf("the body would have %d bytes, more than %d", len(out.body), maxRequest)
	}
	return out, nil
}

// parameters is the query; a parameter whose only place has no argument is left out, one that is a list is repeated.
func (q *request) parameters(args arguments, providerKey string) (string, error) {
	var pairs []string
	add := func(name, value string) { pairs = append(pairs, formName(name)+"="+url.QueryEscape(value)) }
	for _, p := range q.query {
		if pointer, lone := p.value.lone(); lone {
			raw, found, err := args.pick(pointer)
			switch {
			case err != nil:
				return "", fmt.Errorf("query %s: %w", p.name, err)
			case !found:
				continue
			}
			var list []json.RawMessage
			if json.Unmarshal(raw, &list) != nil {
				list = []json.RawMessage{raw}
			}
			for _, element := range list {
				text, ok := plainText(element)
				if !ok {
					return "", fmt.Errorf("query %s: argument %s holds an object", p.name, pointer)
				}
				add(p.name, text)
			}
			continue
		}
		text, err := p.value.expand(args, nil)
		if err != nil {
			return "", fmt.Errorf("query %s: %w", p.name, err)
		}
		add(p.name, text)
	}
	if q.key.query != "" && providerKey != "" {
		add(q.key.query, providerKey)
	}
	return strings.Join(pairs, "&"), nil
}

func (q *request) encode(out *built, args arguments, providerKey string) error {
	if q.body == bodyNone {
		return nil
	}
	if q.body == bodyText {
		text, err := q.content.text.expand(args, nil)
		if err != nil {
			return fmt.Errorf("body: %w", err)
		}
		out.body = []byte(text)
		out.header.Set("Content-Type", q.contentType("text/plain; charset=utf-8"))
		return nil
	}
	var doc bytes.Buffer
	if q.rest {
		if err := q.others(&doc, args); err != nil {
			return fmt.Errorf("body: %w", err)
		}
	} else if found, err := q.content.fill(&doc, args); err != nil {
		return fmt.Errorf("body: %w", err)
	} else if !found {
		return fmt.Errorf("body: %w %s", errMissing, strings.Join(q.content.places(), ", "))
	}
	raw := doc.Bytes()
	if q.key.body != "" && providerKey != "" {
		with, err := setMember(raw, q.key.body, quoted(providerKey))
		if err != nil {
			return fmt.Errorf("body: the provider's key cannot be put at %s: %w", q.key.body, err)
		}
		raw = with
	}
	if q.body == bodyForm {
		text, err := form(raw, q.arrays)
		if err != nil {
			return fmt.Errorf("body: %w", err)
		}
		out.body = []byte(text)
		out.header.Set("Content-Type", q.contentType("application/x-www-form-urlencoded"))
		return nil
	}
	out.body = raw
	out.header.Set("Content-Type", q.contentType("application/json"))
	return nil
}

func (q *request) contentType(usual string) string {
	if q.kind != "" {
		return q.kind
	}
	return usual
}

// others is the object of the arguments that no path, query or header takes.
func (q *request) others(out *bytes.Buffer, args arguments) error {
	all, _, err := args.pick("")
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, pointer := range q.outside() {
		taken[firstName(pointer)] = true
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(all, &members); err != nil {
		return err
	}
	rest := tree{names: []string{}}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !taken[name] {
			rest.names = append(rest.names, name)
			rest.parts = append(rest.parts, tree{raw: string(members[name])})
		}
	}
	_, err = rest.fill(out, args)
	return err
}

// outside lists the pointers that path, query and headers take.
func (q *request) outside() []string {
	list := slices.Clone(q.path.places())
	for _, p := range slices.Concat(q.query, q.header) {
		list = append(list, p.value.places()...)
	}
	return list
}

// places lists every pointer that the request takes from the arguments.
func (q *request) places() []string { return append(q.outside(), q.content.places()...) }

// segment escapes one argument for a path, so that it stays within its segment (RFC 3986 section 3.3). Dots alone and nothing are refused:
// servers resolve them.
func segment(text string) (string, error) {
	switch text {
	case "":
		return "", errors.New("an empty text cannot stand in a path")
	case ".", "..":
		return "", fmt.Errorf("%q cannot stand in a path: it would name another address", text)
	}
	return url.PathEscape(text), nil
}

// headerText refuses what would end a header (RFC 9110 section 5.5).
func headerText(text string) (string, error) {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\t' || c == 0x7f {
			return "", errors.New("a control character cannot stand in a header")
		}
	}
	return text, nil
}
