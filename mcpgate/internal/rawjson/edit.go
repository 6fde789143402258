// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package rawjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Get returns the value at path, members from the root down. The bytes alias doc. A document that is no JSON on the way has no such member;
// what follows the member is not looked at.
func Get(doc []byte, path ...string) (json.RawMessage, bool) {
	for _, name := range path {
		value, ok := member(doc, name)
		if !ok {
			return nil, false
		}
		doc = value
	}
	return json.RawMessage(doc), true
}

// member finds one member without listing the others.
func member(doc []byte, name string) ([]byte, bool) {
	i := skipSpace(doc, 0)
	if i >= len(doc) || doc[i] != '{' {
		return nil, false
	}
	for {
		i = skipSpace(doc, i+1)
		end, err := skipString(doc, i)
		if err != nil {
			return nil, false
		}
		quoted := doc[i:end]
		found := string(quoted[1:len(quoted)-1]) == name
		if !found && bytes.IndexByte(quoted, '\\') >= 0 {
			text, err := decode(quoted)
			found = err == nil && text == name
		}
		i = skipSpace(doc, end)
		if i >= len(doc) || doc[i] != ':' {
			return nil, false
		}
		start := skipSpace(doc, i+1)
		if end, err = skipValue(doc, start, 1); err != nil {
			return nil, false
		}
		if found {
			return doc[start:end], true
		}
		if i = skipSpace(doc, end); i >= len(doc) || doc[i] != ',' {
			return nil, false
		}
	}
}

// Text returns the decoded string at path.
func Text(doc []byte, path ...string) (string, bool) {
	value, ok := Get(doc, path...)
	if !ok {
		return "", false
	}
	return String(value)
}

// Set returns a copy of doc with the value at path replaced, or added as the last member of its object. Objects missing on the way are
// made. doc itself is never changed.
func Set(doc, value []byte, path ...string) ([]byte, error) {
	if len(path) == 0 {
		return slices.Clone(value), nil
	}
	members, err := Members(doc)
	if err != nil {
		return nil, fmt.Errorf("set member %q: %w", path[0], err)
	}
	if m, ok := find(members, path[0]); ok {
		inner, err := Set(m.Value(doc), value, path[1:]...)
		if err != nil {
			return nil, err
		}
		return splice(doc, m.ValueStart, m.End, inner), nil
	}
	for i := len(path) - 1; i > 0; i-- {
		value = slices.Concat([]byte("{"), quote(path[i]), []byte(":"), value, []byte("}"))
	}
	added := slices.Concat(quote(path[0]), []byte(":"), value)
	if len(members) > 0 {
		at := members[len(members)-1].End
		return splice(doc, at, at, append([]byte(","), added...)), nil
	}
	at := skipSpace(doc, 0) + 1
	return splice(doc, at, at, added), nil
}

// Remove returns a copy of doc without the member at path, and the member's value. Without such a member doc comes back as it is.
func Remove(doc []byte, path ...string) (rest []byte, removed json.RawMessage, found bool, err error) {
	if len(path) == 0 {
		return doc, nil, false, nil
	}
	members, err := Members(doc)
	if err != nil {
		return nil, nil, false, fmt.Errorf("remove member %q: %w", path[0], err)
	}
	i := slices.IndexFunc(members, func(m Member) bool { return m.Name == path[0] })
	if i < 0 {
		return doc, nil, false, nil
	}
	m := members[i]
	if len(path) > 1 {
		inner, removed, found, err := Remove(m.Value(doc), path[1:]...)
		if err != nil || !found {
			return doc, nil, false, err
		}
		return splice(doc, m.ValueStart, m.End, inner), removed, true, nil
	}
	start, end := m.Start, m.End
	switch {
	case i+1 < len(members):
		end = members[i+1].Start
	case i > 0:
		start = members[i-1].End
	}
	return splice(doc, start, end, nil), slices.Clone(m.Value(doc)), true, nil
}

// EditElements returns a copy of the array doc with each element passed through edit; an element returned nil is left out. Bytes between
// the elements stay where no element is left out.
func EditElements(doc []byte, edit func(i int, element json.RawMessage) (json.RawMessage, error)) ([]byte, error) {
	elements, err := Elements(doc)
	if err != nil {
		return nil, err
	}
	out, last, dropped := make([]byte, 0, len(doc)+512), 0, false
	kept := make([][]byte, 0, len(elements))
	for i, e := range elements {
		edited, err := edit(i, e)
		if err != nil {
			return nil, err
		}
		start := cap(doc) - cap(e)
		if edited == nil {
			dropped = true
			continue
		}
		kept = append(kept, edited)
		out = append(out, doc[last:start]...)
		out = append(out, edited...)
		last = start + len(e)
	}
	if !dropped {
		return append(out, doc[last:]...), nil
	}
	out = append(out[:0], '[')
	for i, e := range kept {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, ']'), nil
}

// Append returns a copy of the array doc with value as its last element.
func Append(doc, value []byte) ([]byte, error) {
	elements, err := Elements(doc)
	if err != nil {
		return nil, err
	}
	at := len(doc)
	for at > 0 && doc[at-1] != ']' {
		at--
	}
	if len(elements) > 0 {
		value = append([]byte(","), value...)
	}
	return splice(doc, at-1, at-1, value), nil
}

// Quote returns text as a JSON string without HTML escapes.
func Quote(text string) json.RawMessage { return quote(text) }

func quote(text string) []byte {
	plain := true
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x80 || c == '<' || c == '>' || c == '&' {
			plain = false
			break
		}
	}
	if plain {
		return append(append([]byte{'"'}, text...), '"')
	}
	b, err := json.Marshal(text)
	if err != nil {
		return []byte(`""`)
	}
	return unescapeHTML(b)
}

func unescapeHTML(b []byte) []byte {
	out := b[:0]
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 >= len(b) {
			out = append(out, b[i])
			continue
		}
		if i+5 < len(b) {
			switch string(b[i : i+6]) {
			case `\u003c`:
				out, i = append(out, '<'), i+5
				continue
			case `\u003e`:
				out, i = append(out, '>'), i+5
				continue
			case `\u0026`:
				out, i = append(out, '&'), i+5
				continue
			}
		}
		out = append(out, b[i], b[i+1])
		i++
	}
	return out
}

func find(members []Member, name string) (Member, bool) {
	for _, m := range members {
		if m.Name == name {
			return m, true
		}
	}
	return Member{}, false
}

func splice(doc []byte, start, end int, middle []byte) []byte {
	return slices.Concat(doc[:start], middle, doc[end:])
}
