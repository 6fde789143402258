// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/deed-run/deed/internal/canon"
)

const typeJSON = "application/json"

// arguments writes a request down as the JSON object whose canonical form is the
// effect:
//
//	{"method", "path": {...}, "query": {...}, "headers": {...}, "type", "encoding",
//	 "form": {...} or "body_sha256", "target", "raw", "body": JSON}
//
// It holds all that an attempt sends. JSON stays as it came, byte for byte, and
// stands last; other bodies are kept in raw, in base64. What is empty is left out.
func (r *Route) arguments(x *reading) ([]byte, error) {
	if r.As != "" {
		return r.toolArguments(x)
	}
	query, err := url.ParseQuery(x.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("the query cannot be read: %w", err)
	}
	o := object{}
	o.text("method", x.Method)
	path := map[string][]string{}
	for _, v := range x.values {
		path[v.name] = []string{v.text}
	}
	o.named("path", path)
	o.named("query", query)
	o.named("headers", r.ownHeaders(x.Header))
	target := x.URL.EscapedPath()
	if x.URL.RawQuery != "" {
		target += "?" + x.URL.RawQuery
	}
	if len(x.body) > 0 {
		if err := o.body(x); err != nil {
			return nil, err
		}
	}
	o.text("target", target)
	if o.err != nil {
		return nil, o.err
	}
	return o.close(), nil
}

// ownHeaders are those that belong to the effect.
func (r *Route) ownHeaders(h http.Header) map[string][]string {
	own := map[string][]string{}
	for _, name := range r.Headers {
		if values := h.Values(name); len(values) > 0 {
			own[strings.ToLower(name)] = values
		}
	}
	return own
}

// body adds a body by its media type.
func (o *object) body(x *reading) error {
	kind, parameters, err := mime.ParseMediaType(x.Header.Get("Content-Type"))
	if err != nil {
		kind = strings.TrimSpace(x.Header.Get("Content-Type"))
	}
	charset := parameters["charset"]
	encoding := strings.ToLower(x.Header.Get("Content-Encoding"))
	if encoding == "identity" {
		encoding = ""
	}
	plain := encoding == "" && (charset == "" || strings.EqualFold(charset, "utf-8"))
	if kind != typeJSON {
		o.text("type", x.Header.Get("Content-Type"))
	}
	if encoding != "" {
		o.text("encoding", encoding)
	}
	switch {
	case plain && isJSON(kind):
		if err := canon.Strict(x.body); err != nil {
			return fmt.Errorf("the body: %w", err)
		}
		o.last = x.body
		return nil
	case plain && kind == "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(x.body))
		if err != nil {
			return fmt.Errorf("the form cannot be read: %w", err)
		}
		o.named("form", form)
	default:
		if kind == typeJSON {
			// JSON in another alphabet or compressed: its type says so.
			o.text("type", x.Header.Get("Content-Type"))
		}
		sum := sha256.Sum256(x.body)
		o.text("body_sha256", hex.EncodeToString(sum[:]))
	}
	o.text("raw", base64.StdEncoding.EncodeToString(x.body))
	return nil
}

func isJSON(kind string) bool { return kind == typeJSON || strings.HasSuffix(kind, "+json") }

// toolArguments are the JSON body with the values of path and query as members.
func (r *Route) toolArguments(x *reading) ([]byte, error) {
	query, err := url.ParseQuery(x.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("the query cannot be read: %w", err)
	}
	o := object{}
	merged := slices.Clone(x.values)
	for name, v := range query {
		if len(v) != 1 || !slices.Contains(r.Query, name) {
			return nil, fmt.Errorf("the query parameter %q is no argument of %s, or is there twice", name, r.As)
		}
	}
	for _, name := range r.Query {
		if v, ok := query[name]; ok {
			merged = append(merged, value{name, v[0]})
		}
	}
	body := bytes.TrimSpace(x.body)
	if len(body) == 0 {
		body = []byte("{}")
	} else if kind, _, _ := mime.ParseMediaType(x.Header.Get("Content-Type")); !isJSON(kind) || x.Header.Get("Content-Encoding") != "" {
		return nil, fmt.Errorf("the arguments of %s are a JSON object, not %q", r.As, x.Header.Get("Content-Type"))
	}
	if err := canon.Strict(body); err != nil {
		return nil, fmt.Errorf("the body: %w", err)
	}
	if body[0] != '{' {
		return nil, fmt.Errorf("the arguments of %s are a JSON object", r.As)
	}
	for _, v := range merged {
		_, _, taken, err := canon.Without(body, v.name)
		if err != nil {
			return nil, err
		}
		if taken {
			return nil, fmt.Errorf("%q is given both by the address and by the body", v.name)
		}
		o.text(v.name, v.text)
	}
	if o.err != nil {
		return nil, o.err
	}
	return o.after(body), nil
}

// object writes a JSON object member by member, without touching what is JSON
// already.
type object struct {
	buf  bytes.Buffer
	last []byte
	err  error
}

// named adds names with their values, one as a string and several as a list, if
// there are any.
func (o *object) named(member string, values map[string][]string) {
	list := map[string]any{}
	for name, v := range values {
		if err := legible("the "+member, append(slices.Clone(v), name)...); err != nil {
			o.err = err
			return
		}
		if list[name] = v; len(v) == 1 {
			list[name] = v[0]
		}
	}
	if len(list) > 0 {
		o.any(member, list)
	}
}

func (o *object) text(name, text string) {
	if err := legible("the "+name, name, text); err != nil {
		o.err = err
		return
	}
	o.any(name, text)
}

func (o *object) any(name string, value any) {
	var doc bytes.Buffer
	encoder := json.NewEncoder(&doc)
	encoder.SetEscapeHTML(false)
	for _, part := range []any{name, value} {
		if err := encoder.Encode(part); err != nil {
			o.err = err
			return
		}
	}
	parts := bytes.SplitN(doc.Bytes(), []byte("\n"), 2)
	o.comma()
	o.buf.Write(parts[0])
	o.buf.WriteByte(':')
	o.buf.Write(bytes.TrimSuffix(parts[1], []byte("\n")))
}

func (o *object) comma() {
	if o.buf.Len() == 0 {
		o.buf.WriteByte('{')
	} else {
		o.buf.WriteByte(',')
	}
}

// close ends the object; a JSON body stands last.
func (o *object) close() []byte {
	if o.last != nil {
		o.comma()
		o.buf.WriteString(`"body":`)
		o.buf.Write(o.last)
	}
	o.buf.WriteByte('}')
	return o.buf.Bytes()
}

// after puts the members behind those of an object, so that taking them out again
// leaves it as it was.
func (o *object) after(doc []byte) []byte {
	if o.buf.Len() == 0 {
		return doc
	}
	members := o.buf.Bytes()[1:]
	out := bytes.Clone(doc[:len(doc)-1])
	if len(bytes.TrimSpace(doc[1:len(doc)-1])) > 0 {
		out = append(out, ',')
	}
	return append(append(out, members...), '}')
}

// before puts the members in front of those of an object.
func (o *object) before(doc []byte) []byte {
	rest := doc[1:]
	if o.buf.Len() == 0 {
		return doc
	}
	if !bytes.HasPrefix(bytes.TrimSpace(rest), []byte("}")) {
		o.buf.WriteByte(',')
	}
	o.buf.Write(rest)
	return o.buf.Bytes()
}
