// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package keyheader

import (
	"bytes"
	"encoding/json"
)

// Member reads the key that a member of a JSON document holds. wrong says which
// other type it has, and is "" otherwise: a number is none either, since programs
// on the way may write it in another form, which would be another key.
func Member(value []byte) (key, wrong string) {
	value = bytes.TrimSpace(value)
	if len(value) == 0 {
		return "", "it holds nothing, where a string must stand"
	}
	kind := "a number"
	switch value[0] {
	case '"':
		if err := json.Unmarshal(value, &key); err != nil {
			return "", "it is no JSON string"
		}
		return key, ""
	case 'n':
		kind = "null"
	case 't', 'f':
		kind = "a boolean"
	case '{':
		kind = "an object"
	case '[':
		kind = "an array"
	}
	return "", "it is " + kind + ", where a string must stand"
}
