// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/deed-run/deed"
)

func success(result []byte, p Pointers) deed.Outcome {
	out := deed.Outcome{Kind: deed.OutcomeSuccess, Result: result}
	out.Receipt.RemoteSystem = p.System
	out.Receipt.RemoteID = Lookup(result, p.ID)
	out.Receipt.RemoteURL = Lookup(result, p.URL)
	if p.Require && out.Receipt.RemoteID == "" {
		return deed.Outcome{
			Kind: deed.OutcomeUnknown, Reason: deed.ReasonOutcomeUnknown, Result: result,
			Message: "the answer does not hold the receipt's id at " + p.ID,
		}
	}
	return out
}

// Lookup follows an RFC 6901 pointer and returns the text or the number found there as it was written, "" for anything else.
func Lookup(doc []byte, pointer string) string {
	if pointer == "" || pointer[0] != '/' {
		return ""
	}
	for segment := range strings.SplitSeq(pointer[1:], "/") {
		segment = strings.ReplaceAll(strings.ReplaceAll(segment, "~1", "/"), "~0", "~")
		doc = bytes.TrimSpace(doc)
		if len(doc) == 0 {
			return ""
		}
		switch doc[0] {
		case '{':
			var members map[string]json.RawMessage
			if json.Unmarshal(doc, &members) != nil {
				return ""
			}
			doc = members[segment]
		case '[':
			var elements []json.RawMessage
			i, err := strconv.Atoi(segment)
			if err != nil || json.Unmarshal(doc, &elements) != nil || i < 0 || i >= len(elements) {
				return ""
			}
			doc = elements[i]
		default:
			return ""
		}
	}
	doc = bytes.TrimSpace(doc)
	if len(doc) == 0 {
		return ""
	}
	switch c := doc[0]; {
	case c == '"':
		var s string
		if json.Unmarshal(doc, &s) != nil {
			return ""
		}
		return s
	case c == '-' || c >= '0' && c <= '9':
		return string(doc)
	}
	return ""
}
