// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/deed-run/deed/internal/canon"
)

// arguments are the bytes of a call's arguments, one JSON object.
type arguments []byte

// errMissing: a place has no argument.
var errMissing = errors.New("there is no argument")

// pick returns the value at a pointer; null counts as nothing.
func (a arguments) pick(pointer string) (json.RawMessage, bool, error) {
	raw, found, err := canon.Pick(a, pointer)
	if err != nil {
		return nil, false, fmt.Errorf("argument %s: %w", pointer, err)
	}
	return raw, found && string(raw) != "null", nil
}

// plain returns a text, number or truth value as text.
func (a arguments) plain(pointer string) (string, error) {
	raw, found, err := a.pick(pointer)
	switch {
	case err != nil:
		return "", err
	case !found:
		return "", fmt.Errorf("%w %s", errMissing, pointer)
	}
	text, ok := plainText(raw)
	if !ok {
		return "", fmt.Errorf("argument %s is a list or an object where a text or a number must stand", pointer)
	}
	return text, nil
}

func plainText(raw json.RawMessage) (string, bool) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || raw[0] == '{' || raw[0] == '[':
		return "", false
	case raw[0] == '"':
		var text string
		err := json.Unmarshal(raw, &text)
		return text, err == nil
	}
	return string(raw), true
}

// template is a text with places for arguments: {name} for the argument of that name, {/a/b} for a pointer. A brace that encloses neither is
// text.
type template struct {
	// literals and pointers alternate: literal, pointer, literal, ..., literal.
	literals []string
	pointers []string
}

var placeholder = regexp.MustCompile(`\{(/[^{}\s]*|[A-Za-z_][A-Za-z0-9_-]*)\}`)

func (r *reader) template(at place, text string, places bool) *template {
	t := &template{}
	rest := 0
	if places {
		for _, found := range placeholder.FindAllStringSubmatchIndex(text, -1) {
			pointer := text[found[2]:found[3]]
			if pointer[0] != '/' {
				pointer = "/" + pointer
			} else if wrong := badPointer(pointer); wrong != "" {
				r.refuse(at, "pointer "+pointer+" "+wrong, "write {name} or {/a/b}")
				continue
			}
			t.literals = append(t.literals, text[rest:found[0]])
			t.pointers = append(t.pointers, pointer)
			rest = found[1]
		}
	}
	t.literals = append(t.literals, text[rest:])
	return t
}

func (t *template) places() []string { return t.pointers }

// lone is the pointer of a text that is one place and nothing else.
func (t *template) lone() (string, bool) {
	return strings.Join(t.pointers, ""), len(t.pointers) == 1 && t.literals[0]+t.literals[1] == ""
}

// value is the template as JSON; false where its only place has no argument.
func (t *template) value(args arguments) (json.RawMessage, bool, error) {
	if pointer, ok := t.lone(); ok {
		return args.pick(pointer)
	}
	text, err := t.expand(args, nil)
	if err != nil {
		return nil, false, err
	}
	return quoted(text), true, nil
}

// expand is the template as text; escape, where it is set, is applied to every argument.
func (t *template) expand(args arguments, escape func(string) (string, error)) (string, error) {
	var out strings.Builder
	for i, literal := range t.literals {
		out.WriteString(literal)
		if i == len(t.pointers) {
			break
		}
		text, err := args.plain(t.pointers[i])
		if err == nil && escape != nil {
			text, err = escape(text)
		}
		if err != nil {
			return "", err
		}
		out.WriteString(text)
	}
	return out.String(), nil
}
