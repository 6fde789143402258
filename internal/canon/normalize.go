// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
)

const normaliserNames = "decimal, email_domain, url, instant, lower, upper, trim, collapse_space, newlines, uuid, nfc, digest"

// normalizeRule applies its steps to every value that its pointer addresses.
type normalizeRule struct {
	at    pattern
	steps []step
}

type step struct {
	name  string
	apply normaliser
}

// normaliser rewrites one value. A problem means that the value cannot be read;
// it is a sentence with a remedy and never quotes the value.
type normaliser func(n *node) (problem string)

func (r *normalizeRule) apply(n *node, path []segment) *Error {
	if len(path) == 0 {
		return r.applyHere(n)
	}
	from, to := path[0].match(n)
	for i := from; i < to; i++ {
		if e := r.apply(&n.kids[i].value, path[1:]); e != nil {
			return e.under(n.kind, n.kids[i].name, i)
		}
	}
	return nil
}

func (r *normalizeRule) applyHere(n *node) *Error {
	if n.kind == kindNull {
		return nil
	}
	for _, s := range r.steps {
		if problem := s.apply(n); problem != "" {
			return &Error{Code: CodeNormalize, Detail: "normaliser " + s.name + ": " + problem}
		}
	}
	return nil
}

// normaliserNamed returns nil for a known name whose function is not injected.
func normaliserNamed(name string, o Options) (apply normaliser, known bool) {
	switch name {
	case "decimal":
		return normaliseDecimal, true
	case "email_domain":
		return onText(normaliseEmail), true
	case "url":
		return onText(normaliseURL), true
	case "instant":
		return onText(normaliseInstant), true
	case "lower":
		return onText(total(lower)), true
	case "upper":
		return onText(total(upper)), true
	case "trim":
		return onText(total(strings.TrimSpace)), true
	case "collapse_space":
		return onText(total(collapseSpace)), true
	case "newlines":
		return onText(total(newlines)), true
	case "uuid":
		return onText(normaliseUUID), true
	case "nfc":
		if o.NFC == nil {
			return nil, true
		}
		return onText(total(o.NFC)), true
	case "digest":
		return onText(total(contentDigest)), true
	}
	return nil, false
}

func onText(f func(string) (result, problem string)) normaliser {
	return func(n *node) string {
		if n.kind != kindString {
			return "the value is not a string: send a string, or remove the normaliser"
		}
		result, problem := f(string(n.text))
		n.text = []byte(result)
		return problem
	}
}

// total adapts a function that can read every string.
func total(f func(string) string) func(string) (string, string) {
	return func(text string) (string, string) { return f(text), "" }
}

// normaliseDecimal turns a decimal string into a number, so that 10.5, "10.5"
// and "10.50" are one value. The string follows the grammar and the limits of
// a JSON number and is always compared exactly.
func normaliseDecimal(n *node) string {
	const problem = "the value is not a decimal number: write it like 10.50, without sign +, spaces or separators"
	switch n.kind {
	case kindNumber:
		return ""
	case kindString:
		if length := scanNumber(n.text); length == 0 || length != len(n.text) {
			return problem
		}
		if e := checkNumber(n.text); e != nil {
			return e.Detail
		}
		n.kind, n.exact = kindNumber, true
		return ""
	}
	return problem
}

// lower maps letters to lower case where the mapping can be undone. A letter
// such as the Kelvin sign, which would turn into another letter's lower case,
// stays as it is: unequal names must not merge.
func lower(text string) string {
	return strings.Map(lowerRune, text)
}

func upper(text string) string {
	return strings.Map(func(r rune) rune {
		if u := unicode.ToUpper(r); unicode.ToLower(u) == r {
			return u
		}
		return r
	}, text)
}

func lowerRune(r rune) rune {
	if l := unicode.ToLower(r); unicode.ToUpper(l) == r {
		return l
	}
	return r
}

func collapseSpace(text string) string {
	var b strings.Builder
	inSpace := false
	for _, r := range text {
		if unicode.IsSpace(r) {
			if !inSpace {
				b.WriteByte(' ')
			}
			inSpace = true
			continue
		}
		inSpace = false
		b.WriteRune(r)
	}
	return b.String()
}

func newlines(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

// normaliseUUID accepts the text forms of RFC 9562 section 4, with "urn:uuid:",
// braces or no hyphens, and writes 8-4-4-4-12 in lower case.
func normaliseUUID(text string) (string, string) {
	const problem = "the value is not a UUID: write it like 8e03978e-40d5-43e8-bc93-6894a57f9324"
	text = strings.TrimPrefix(strings.ToLower(text), "urn:uuid:")
	if len(text) == 38 && text[0] == '{' && text[37] == '}' {
		text = text[1:37]
	}
	if len(text) == 36 {
		if text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
			return "", problem
		}
		text = text[:8] + text[9:13] + text[14:18] + text[19:23] + text[24:]
	}
	if len(text) != 32 {
		return "", problem
	}
	if _, err := hex.DecodeString(text); err != nil {
		return "", problem
	}
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:], ""
}

// contentDigest replaces inline content by its hash. A text that already is
// such a hash stays, so that a retry may send a reference.
func contentDigest(text string) string {
	if sum, ok := strings.CutPrefix(text, "sha256:"); ok && len(sum) == 2*sha256.Size {
		if _, err := hex.DecodeString(sum); err == nil {
			return strings.ToLower(text)
		}
	}
	return digest([]byte(text))
}
