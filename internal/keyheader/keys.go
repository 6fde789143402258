// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package keyheader

import (
	"net/http"
	"strings"

	"github.com/dunglas/httpsfv"
)

// Name is the header's name.
const Name = "Idempotency-Key"

// Keys reads the keys that a request names, in their order; none if it has no
// such header. wrong says why the header cannot be read, and is "" otherwise.
//
// draft-ietf-httpapi-idempotency-key-header-07 section 2.1 makes the value one
// string of RFC 8941. Programs also write it bare, and both are taken:
//
//   - A string in quotes is read as RFC 8941 section 4.2.5 says. Parameters
//     behind it name nothing here, so that they are checked and ignored.
//   - What begins without a quote is a bare key: every character up to a comma
//     counts, also a semicolon.
//   - Several lines are one list (RFC 9110 section 5.3), which an intermediary
//     may join: each member is a key, so that two that differ disagree and the
//     same one twice is one. Quoted and bare are the same key.
//   - An empty member is an empty key, which is nobody's, and not left out: a
//     caller that sends the header meant to name the operation.
func Keys(h http.Header) (keys []string, wrong string) {
	for _, line := range h.Values(Name) {
		members, open := split(line)
		if open {
			return nil, "the header is no string of RFC 8941: its closing quote is missing"
		}
		for _, member := range members {
			key, wrong := read(member)
			if wrong != "" {
				return nil, wrong
			}
			keys = append(keys, key)
		}
	}
	return keys, ""
}

// split takes a line apart at the commas outside of strings; open says that a
// string does not end.
func split(line string) (members []string, open bool) {
	from := 0
	for i := 0; i < len(line); i++ {
		switch {
		case open && line[i] == '\\':
			i++
		case line[i] == '"':
			open = !open
		case line[i] == ',' && !open:
			members, from = append(members, line[from:i]), i+1
		}
	}
	return append(members, line[from:]), open
}

func read(member string) (key, wrong string) {
	member = strings.Trim(member, " \t")
	if !strings.Contains(member, `"`) {
		return member, ""
	}
	item, err := httpsfv.UnmarshalItem([]string{member})
	if err != nil {
		return "", "the header is no string of RFC 8941: " + err.Error()
	}
	key, ok := item.Value.(string)
	if !ok {
		return "", "the header is no string of RFC 8941: a quote stands within a value that began without one"
	}
	return key, ""
}
