// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// arrayStyle says how a list stands in a form.
type arrayStyle string

const (
	arraysIndexed arrayStyle = "indexed" // a[0]=x&a[1]=y
	arraysEmpty   arrayStyle = "empty"   // a[]=x&a[]=y
	arraysRepeat  arrayStyle = "repeat"  // a=x&a=y
)

// form encodes a JSON object as application/x-www-form-urlencoded, with brackets for what is inside: a[b][c]=1. Members stand in the order
// of their names; null is an empty text. The same object always gives the same bytes.
func form(object []byte, style arrayStyle) (string, error) {
	var pairs []string
	if err := formPairs("", object, style, &pairs); err != nil {
		return "", err
	}
	return strings.Join(pairs, "&"), nil
}

func formPairs(name string, raw json.RawMessage, style arrayStyle, pairs *[]string) error {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) > 0 && raw[0] == '{':
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil {
			return err
		}
		for _, member := range slices.Sorted(maps.Keys(members)) {
			inner := member
			if name != "" {
				inner = name + "[" + member + "]"
			}
			if err := formPairs(inner, members[member], style, pairs); err != nil {
				return err
			}
		}
	case len(raw) > 0 && raw[0] == '[':
		var elements []json.RawMessage
		if err := json.Unmarshal(raw, &elements); err != nil {
			return err
		}
		for i, element := range elements {
			inner := name
			switch style {
			case arraysEmpty:
				inner += "[]"
			case arraysRepeat:
			default:
				inner += "[" + strconv.Itoa(i) + "]"
			}
			if err := formPairs(inner, element, style, pairs); err != nil {
				return err
			}
		}
	default:
		text, _ := plainText(raw)
		if string(raw) == "null" {
			text = ""
		}
		*pairs = append(*pairs, formName(name)+"="+url.QueryEscape(text))
	}
	return nil
}

// formName leaves brackets as they are, as the APIs that use them are wont to.
func formName(name string) string {
	return strings.NewReplacer("%5B", "[", "%5D", "]").Replace(url.QueryEscape(name))
}

// setMember puts a value at a pointer into a JSON object, making objects on the way.
func setMember(doc []byte, pointer string, value []byte) ([]byte, error) {
	name, rest, deeper := strings.Cut(pointer[1:], "/")
	name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	members := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(doc)) > 0 {
		if err := json.Unmarshal(doc, &members); err != nil {
			return nil, err
		}
	}
	if deeper {
		inner, err := setMember(members[name], "/"+rest, value)
		if err != nil {
			return nil, err
		}
		value = inner
	}
	members[name] = value
	var out bytes.Buffer
	out.WriteByte('{')
	for i, member := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(quoted(member))
		out.WriteByte(':')
		out.Write(members[member])
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
