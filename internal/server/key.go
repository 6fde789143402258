// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"strings"

	"github.com/deed-run/deed"
)

const headerKey = "Idempotency-Key"

// keysOf reads the keys of a request: RFC 8941 strings, quoted or bare, each
// once. Several field lines are one list (RFC 9110 section 5.3). The error text
// is "" when they can be read.
func keysOf(h http.Header) (keys []string, wrong string) {
	for _, line := range h.Values(headerKey) {
		rest := strings.Trim(line, " \t")
		for {
			key, after, wrong := nextKey(rest)
			if wrong != "" {
				return nil, wrong
			}
			keys = append(keys, key)
			if after == "" {
				break
			}
			rest = strings.TrimLeft(after[1:], " \t")
		}
	}
	return keys, ""
}

// nextKey takes one key; what is left is "" or begins with a comma.
func nextKey(text string) (key, rest, wrong string) {
	if !strings.HasPrefix(text, `"`) {
		key, _, _ = strings.Cut(text, ",")
		return strings.TrimRight(key, " \t"), text[len(key):], ""
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			rest, wrong := afterString(text[i+1:])
			return b.String(), rest, wrong
		case c == '\\':
			i++
			if i == len(text) || text[i] != '"' && text[i] != '\\' {
				return "", "", `the header is no RFC 8941 string: a backslash stands before " or \ only`
			}
			b.WriteByte(text[i])
		case c < ' ' || c >= 0x7f:
			return "", "", "the header is no RFC 8941 string: it holds a character that is not visible ASCII"
		default:
			b.WriteByte(c)
		}
	}
	return "", "", "the header is no RFC 8941 string: its closing quote is missing"
}

// afterString skips the parameters of an item, which mean nothing here.
func afterString(text string) (rest, wrong string) {
	text = strings.TrimLeft(text, " \t")
	switch {
	case text == "", text[0] == ',':
		return text, ""
	case text[0] == ';':
		at := strings.IndexByte(text, ',')
		if at < 0 {
			return "", ""
		}
		return text[at:], ""
	}
	return "", "the header is no RFC 8941 string: something follows the closing quote"
}

// carriers are the identities that a request brings in its header.
func carriers(keys []string, family deed.Family) []deed.Carrier {
	list := make([]deed.Carrier, 0, len(keys))
	for _, key := range keys {
		list = append(list, deed.Carrier{Provenance: deed.ProvenanceRuntime, Identity: identity(family, key), Name: "the header " + headerKey})
	}
	return list
}

func identity(family deed.Family, text string) deed.Identity {
	switch family {
	case deed.FamilyCreation:
		return deed.CreationID(text)
	case deed.FamilySecret:
		return deed.NewRegistrationKey(text)
	}
	return deed.OperationKey(text)
}
