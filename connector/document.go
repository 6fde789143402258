// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// documentTree reads a whole JSON or YAML document, with the order of its members.
func documentTree(source []byte, file string) (tree, error) {
	if trimmed := bytes.TrimSpace(source); len(trimmed) > 0 && trimmed[0] == '{' {
		d := json.NewDecoder(bytes.NewReader(trimmed))
		d.UseNumber()
		t, err := jsonTree(d, 0)
		if err == nil {
			_, err = d.Token()
			if errors.Is(err, io.EOF) {
				return t, nil
			}
			err = fmt.Errorf("there is more after the document")
		}
		return tree{}, fmt.Errorf("%s is no JSON: %w", file, err)
	}
	r := &reader{file: file, line: 1}
	root := r.parse(source)
	var t tree
	if root != nil {
		t = r.tree(place{node: root}, false)
	}
	if len(r.found) > 0 {
		return tree{}, problemsOf(r.found)
	}
	return t, nil
}

const maxDocumentDepth = 200

func jsonTree(d *json.Decoder, depth int) (tree, error) {
	if depth > maxDocumentDepth {
		return tree{}, fmt.Errorf("it is nested more than %d deep", maxDocumentDepth)
	}
	token, err := d.Token()
	if err != nil {
		return tree{}, err
	}
	switch v := token.(type) {
	case json.Delim:
		t := tree{list: v == '['}
		if v == '{' {
			t.names = []string{}
		}
		for d.More() {
			if v == '{' {
				name, err := d.Token()
				if err != nil {
					return tree{}, err
				}
				t.names = append(t.names, name.(string))
			}
			part, err := jsonTree(d, depth+1)
			if err != nil {
				return tree{}, err
			}
			t.parts = append(t.parts, part)
		}
		_, err := d.Token()
		return t, err
	case string:
		return textTree(v), nil
	case json.Number:
		return tree{raw: v.String()}, nil
	case bool:
		return tree{raw: fmt.Sprint(v)}, nil
	}
	return tree{raw: "null"}, nil
}

func textTree(text string) tree { return tree{text: &template{literals: []string{text}}} }

// member is the value of a member of an object.
func (t tree) member(name string) (tree, bool) {
	for i, n := range t.names {
		if n == name {
			return t.parts[i], true
		}
	}
	return tree{}, false
}

// at follows members and returns what is there, an empty tree for nothing.
func (t tree) at(names ...string) tree {
	for _, name := range names {
		t, _ = t.member(name)
	}
	return t
}

// str is a text, "" for anything else.
func (t tree) str() string {
	if t.text == nil {
		return ""
	}
	return strings.Join(t.text.literals, "")
}

func (t tree) isTrue() bool { return t.raw == "true" }

// with returns the object with a member more, or one replaced.
func (t tree) with(name string, value tree) tree {
	out := tree{names: []string{}}
	replaced := false
	for i, n := range t.names {
		if n == name {
			replaced = true
			out.names, out.parts = append(out.names, n), append(out.parts, value)
			continue
		}
		out.names, out.parts = append(out.names, n), append(out.parts, t.parts[i])
	}
	if !replaced {
		out.names, out.parts = append(out.names, name), append(out.parts, value)
	}
	return out
}

// json is the tree as JSON, which is YAML too.
func (t tree) json() string {
	var out bytes.Buffer
	if _, err := t.fill(&out, arguments("{}")); err != nil {
		return "null"
	}
	return out.String()
}
