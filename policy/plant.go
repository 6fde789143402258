// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/deed-run/deed/internal/canon"
)

// change makes the JSON value that stands at a place from the one that stood
// there, nil for none.
type change func(old json.RawMessage) (json.RawMessage, error)

// edited changes the one value at a pointer and keeps every other byte as it
// was. Missing objects on the way are made; what is there and no object is an
// error. The document must be a JSON object.
func edited(doc []byte, pointer string, by change) ([]byte, error) {
	if err := canon.Strict(doc); err != nil {
		return nil, errors.New(plain(err))
	}
	// The document is JSON from here on, so that the scan below needs no checks.
	start := skipSpace(doc, 0)
	return editAt(doc, start, pointer, pointer, by)
}

// editAt changes what a pointer leads to below the value that begins at start.
func editAt(doc []byte, start int, rest, whole string, by change) ([]byte, error) {
	name, below, deeper := strings.Cut(rest[1:], "/")
	name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	below = "/" + below
	var from, to, end int
	var found, empty bool
	switch doc[start] {
	case '{':
		from, to, end, empty, found = member(doc, start, name)
	case '[':
		if from, to, found = element(doc, start, name); !found {
			return nil, fmt.Errorf("%s leads to no element of a list that is there", whole)
		}
	default:
		return nil, fmt.Errorf("%s leads through something that is no object", whole)
	}
	isNull := found && string(doc[from:to]) == "null"
	switch {
	case found && deeper && !isNull:
		return editAt(doc, from, below, whole, by)
	case found:
		old := json.RawMessage(doc[from:to])
		if deeper {
			old = nil
		}
		value, err := made(old, below, deeper, by)
		if err != nil {
			return nil, fmt.Errorf("%s %w", whole, err)
		}
		return splice(doc, from, to, value), nil
	}
	value, err := made(nil, below, deeper, by)
	if err != nil {
		return nil, fmt.Errorf("%s %w", whole, err)
	}
	key, err := json.Marshal(name)
	if err != nil {
		return nil, err
	}
	added := append(append(key, ':'), value...)
	if !empty {
		added = append([]byte{','}, added...)
	}
	return splice(doc, end, end, added), nil
}

// made is the changed value within the objects that were missing around it.
func made(old json.RawMessage, below string, deeper bool, by change) ([]byte, error) {
	if !deeper {
		return by(old)
	}
	value, err := by(nil)
	if err != nil {
		return nil, err
	}
	names := strings.Split(below[1:], "/")
	for i := len(names) - 1; i >= 0; i-- {
		key, err := json.Marshal(strings.NewReplacer("~1", "/", "~0", "~").Replace(names[i]))
		if err != nil {
			return nil, err
		}
		value = append(append(append([]byte{'{'}, key...), ':'), append(value, '}')...)
	}
	return value, nil
}

func splice(doc []byte, from, to int, value []byte) []byte {
	out := make([]byte, 0, len(doc)-(to-from)+len(value))
	return append(append(append(out, doc[:from]...), value...), doc[to:]...)
}

// member finds a member's value. end is where another member could be added.
func member(doc []byte, start int, name string) (from, to, end int, empty, found bool) {
	i := skipSpace(doc, start+1)
	if doc[i] == '}' {
		return 0, 0, start + 1, true, false
	}
	for {
		keyEnd := skipValue(doc, i)
		var key string
		_ = json.Unmarshal(doc[i:keyEnd], &key)
		from = skipSpace(doc, skipSpace(doc, keyEnd)+1)
		to = skipValue(doc, from)
		if key == name {
			return from, to, to, false, true
		}
		end = to
		if i = skipSpace(doc, to); doc[i] == '}' {
			return 0, 0, end, false, false
		}
		i = skipSpace(doc, i+1)
	}
}

func element(doc []byte, start int, index string) (from, to int, found bool) {
	wanted, err := strconv.Atoi(index)
	if err != nil || wanted < 0 || strconv.Itoa(wanted) != index {
		return 0, 0, false
	}
	from = skipSpace(doc, start+1)
	for n := 0; doc[from] != ']'; n++ {
		to = skipValue(doc, from)
		if n == wanted {
			return from, to, true
		}
		if from = skipSpace(doc, to); doc[from] == ',' {
			from = skipSpace(doc, from+1)
		}
	}
	return 0, 0, false
}

// quote is a text as JSON, with < and > as they are: people read them.
func quote(text string) json.RawMessage {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		// Texts always encode.
		return json.RawMessage(`""`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

func skipSpace(doc []byte, i int) int {
	for i < len(doc) && (doc[i] == ' ' || doc[i] == '\t' || doc[i] == '\n' || doc[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns where the value that begins at i ends.
func skipValue(doc []byte, i int) int {
	depth := 0
	for ; i < len(doc); i++ {
		switch c := doc[i]; {
		case c == '"':
			for i++; doc[i] != '"'; i++ {
				if doc[i] == '\\' {
					i++
				}
			}
		case c == '{' || c == '[':
			depth++
			continue
		case c == '}' || c == ']':
			depth--
		case depth == 0 && strings.IndexByte(" \t\r\n,:}]", c) < 0:
			// A number or a word ends before what follows it.
			for i+1 < len(doc) && strings.IndexByte(" \t\r\n,:}]", doc[i+1]) < 0 {
				i++
			}
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
}
