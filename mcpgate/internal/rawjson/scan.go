// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package rawjson

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrSyntax marks a document that is not JSON where it was looked at.
var ErrSyntax = errors.New("not valid JSON")

const maxDepth = 512

// Member is one member of an object, as offsets into the document that holds it.
type Member struct {
	Name       string // decoded
	Start      int    // of the name's opening quote
	ValueStart int
	End        int // behind the value
}

// Value returns the member's bytes in doc.
func (m Member) Value(doc []byte) json.RawMessage { return json.RawMessage(doc[m.ValueStart:m.End]) }

// Members lists the members of the object that doc is, in order. White space around the object is allowed, anything else is an error.
func Members(doc []byte) ([]Member, error) {
	list := make([]Member, 0, 4)
	err := each(doc, '{', '}', func(i int) (int, error) {
		end, err := skipString(doc, i)
		if err != nil {
			return 0, err
		}
		name, err := decode(doc[i:end])
		if err != nil {
			return 0, err
		}
		at := skipSpace(doc, end)
		if at >= len(doc) || doc[at] != ':' {
			return 0, syntax(doc, at, "a colon is missing")
		}
		start := skipSpace(doc, at+1)
		stop, err := skipValue(doc, start, 1)
		if err != nil {
			return 0, err
		}
		list = append(list, Member{Name: name, Start: i, ValueStart: start, End: stop})
		return stop, nil
	})
	return list, err
}

// Elements lists the elements of the array that doc is, in order.
func Elements(doc []byte) ([]json.RawMessage, error) {
	var list []json.RawMessage
	err := each(doc, '[', ']', func(i int) (int, error) {
		stop, err := skipValue(doc, i, 1)
		if err != nil {
			return 0, err
		}
		list = append(list, json.RawMessage(doc[i:stop]))
		return stop, nil
	})
	return list, err
}

// IsObject reports whether doc starts like an object.
func IsObject(doc []byte) bool {
	i := skipSpace(doc, 0)
	return i < len(doc) && doc[i] == '{'
}

// String decodes doc when it is a JSON string.
func String(doc []byte) (string, bool) {
	i := skipSpace(doc, 0)
	if i >= len(doc) || doc[i] != '"' {
		return "", false
	}
	end, err := skipString(doc, i)
	if err != nil || skipSpace(doc, end) != len(doc) {
		return "", false
	}
	s, err := decode(doc[i:end])
	return s, err == nil
}

func each(doc []byte, open, closing byte, item func(i int) (int, error)) error {
	i := skipSpace(doc, 0)
	if i >= len(doc) || doc[i] != open {
		return syntax(doc, i, fmt.Sprintf("a %q is missing", open))
	}
	i = skipSpace(doc, i+1)
	for first := true; ; first = false {
		if i >= len(doc) {
			return syntax(doc, i, "the document ends early")
		}
		if doc[i] == closing && first {
			break
		}
		stop, err := item(i)
		if err != nil {
			return err
		}
		i = skipSpace(doc, stop)
		if i >= len(doc) {
			return syntax(doc, i, "the document ends early")
		}
		if doc[i] == closing {
			break
		}
		if doc[i] != ',' {
			return syntax(doc, i, "a comma is missing")
		}
		i = skipSpace(doc, i+1)
	}
	if i = skipSpace(doc, i+1); i != len(doc) {
		return syntax(doc, i, "more follows behind the end")
	}
	return nil
}

// decode turns a quoted JSON string into text; a lone surrogate becomes U+FFFD, as encoding/json does.
func decode(quoted []byte) (string, error) {
	plain := true
	for _, c := range quoted[1 : len(quoted)-1] {
		if c == '\\' || c >= 0x80 {
			plain = false
			break
		}
	}
	if plain {
		return common(quoted[1 : len(quoted)-1]), nil
	}
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return "", fmt.Errorf("%w: a string cannot be decoded", ErrSyntax)
	}
	return s, nil
}

// common spares the copy of names that every message has.
func common(name []byte) string {
	switch string(name) {
	case "jsonrpc":
		return "jsonrpc"
	case "id":
		return "id"
	case "method":
		return "method"
	case "params":
		return "params"
	case "result":
		return "result"
	case "name":
		return "name"
	case "arguments":
		return "arguments"
	case "_meta":
		return "_meta"
	case "tools/call":
		return "tools/call"
	}
	return string(name)
}

func syntax(doc []byte, at int, what string) error {
	return fmt.Errorf("%w: %s at byte %d of %d", ErrSyntax, what, at, len(doc))
}
