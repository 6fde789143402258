// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// differences are the JSON pointers (RFC 6901) at which what was read is not what
// is frozen, however members are ordered and numbers written. A zero that is not
// there, as of an omitempty field, is there.
func differences(frozen, read []byte) ([]string, error) {
	left, err := decoded(frozen)
	if err != nil {
		return nil, err
	}
	right, err := decoded(read)
	if err != nil {
		return nil, err
	}
	return different("", left, right), nil
}

func decoded(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

func different(at string, frozen, read any) []string {
	switch frozen := frozen.(type) {
	case json.Number:
		if number, ok := read.(json.Number); ok && sameNumber(string(frozen), string(number)) {
			return nil
		}
	case []any:
		if list, ok := read.([]any); ok && len(list) == len(frozen) {
			var found []string
			for i := range frozen {
				found = append(found, different(at+"/"+strconv.Itoa(i), frozen[i], list[i])...)
			}
			return found
		}
	case map[string]any:
		if members, ok := read.(map[string]any); ok {
			return differentMembers(at, frozen, members)
		}
	default:
		if frozen == read {
			return nil
		}
	}
	if at == "" {
		return []string{"all"}
	}
	return []string{at}
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func differentMembers(at string, frozen, read map[string]any) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(frozen)) {
		value, there := read[name]
		below := at + "/" + pointerEscapes.Replace(name)
		switch {
		case there:
			found = append(found, different(below, frozen[name], value)...)
		case !zero(frozen[name]):
			found = append(found, below)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(read)) {
		if _, there := frozen[name]; !there {
			found = append(found, at+"/"+pointerEscapes.Replace(name))
		}
	}
	return found
}

func zero(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case bool:
		return !value
	case string:
		return value == ""
	case json.Number:
		return sameNumber(string(value), "0")
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	}
	return false
}

// sameNumber compares exactly. Exponents of more than three digits are compared
// as they are written: what they stand for has no room.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	x, okX := exact(a)
	y, okY := exact(b)
	return okX && okY && x.Cmp(y) == 0
}

func exact(number string) (*big.Rat, bool) {
	if i := strings.IndexAny(number, "eE"); i >= 0 && len(strings.TrimLeft(number[i+1:], "+-0")) > 3 {
		return nil, false
	}
	return new(big.Rat).SetString(number)
}
