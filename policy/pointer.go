// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"strings"

	"github.com/deed-run/deed/internal/canon"
)

// pointers reads a list of pointers that each address one argument.
func (d *decoder) pointers(at place) []string {
	var list []string
	items := d.items(at, "pointers")
	if items != nil && len(items) == 0 {
		d.refuse(at, "is an empty list", "write pointers such as /order_id, or remove the key")
	}
	for _, item := range items {
		if text, ok := d.pointer(item); ok {
			list = append(list, text)
		}
	}
	return list
}

// pointer reads one RFC 6901 pointer that addresses one value.
func (d *decoder) pointer(at place) (string, bool) {
	text, ok := d.text(at)
	if !ok || !d.slashed(at, text) || !d.onePointer(at, text) {
		return "", false
	}
	return text, true
}

// slashed refuses a pointer that does not begin with a slash.
func (d *decoder) slashed(at place, text string) bool {
	if strings.HasPrefix(text, "/") {
		return true
	}
	d.refuse(at, "pointer "+text+" does not begin with /", "write "+pointerFor(text)+" instead")
	return false
}

// pointerFor guesses the pointer that somebody meant who wrote a name, a
// dotted path or a path of JSONPath.
func pointerFor(text string) string {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "$"), ".")
	text = strings.TrimPrefix(text, "args.")
	return "/" + strings.ReplaceAll(text, ".", "/")
}

func (d *decoder) onePointer(at place, text string) bool {
	_, _, err := canon.Pick([]byte("{}"), text)
	var refused *canon.Error
	if errors.As(err, &refused) {
		d.refuseCanon(at, "pointer "+text+": ", refused.Detail)
		return false
	}
	return true
}

// refuseCanon passes on what the fingerprint's package says, of which the part
// after the last colon is the remedy.
func (d *decoder) refuseCanon(at place, about, detail string) {
	wrong, remedy := detail, ""
	if i := strings.LastIndex(detail, ": "); i >= 0 {
		wrong, remedy = detail[:i], detail[i+2:]
	}
	d.refuse(at, about+wrong, remedy)
}

// pick finds the canonical value at a pointer.
func pick(doc []byte, pointer string) (value []byte, found bool, err error) {
	value, found, err = canon.Pick(doc, pointer)
	if err != nil {
		return nil, false, errors.New(plain(err))
	}
	return value, found, nil
}

func plainName(text string) bool {
	for _, c := range []byte(text) {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return text != ""
}
