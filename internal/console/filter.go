// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// filter is what a listing is narrowed to. It lives in the address, so that a
// view can be kept as a link.
type filter struct {
	// Status holds words: a status or a group, with "-" before it to exclude.
	Status      string
	Tool        string
	Actor       string
	Key         string
	Fingerprint string
	Reason      string
	Since       string
	Until       string
	Text        string
	Before      string

	query deed.Query
	since deed.OperationID
}

// readFilter reads an address. It says what is wrong with it rather than
// listing more than was asked for.
func readFilter(values url.Values, now time.Time) (filter, string) {
	f := filter{
		Status: strings.Join(values["status"], " "), Tool: values.Get("tool"), Actor: values.Get("actor"), Key: values.Get("key"),
		Fingerprint: values.Get("fingerprint"), Reason: values.Get("reason"), Since: values.Get("since"), Until: values.Get("until"),
		Text: values.Get("text"), Before: values.Get("before"),
	}
	for _, field := range f.fields() {
		*field = strings.TrimSpace(*field)
	}
	f.query = deed.Query{
		Tool: deed.Tool(f.Tool), Actor: deed.Actor(f.Actor), Key: f.Key, Fingerprint: deed.Fingerprint(f.Fingerprint),
		Reason: deed.Reason(f.Reason), Before: deed.OperationID(f.Before), Effective: now,
	}
	var wrong string
	if f.query.Statuses, wrong = statusesOf(f.Status); wrong != "" {
		return f, wrong
	}
	if f.Since != "" {
		at, ok := momentOf(f.Since, now)
		if !ok {
			return f, fmt.Sprintf("%q is no time: write 2h, 7d, or 2026-01-31T12:00Z", f.Since)
		}
		f.since = firstID(at)
	}
	if f.Until != "" {
		at, ok := momentOf(f.Until, now)
		if !ok {
			return f, fmt.Sprintf("%q is no time: write 2h, 7d, or 2026-01-31T12:00Z", f.Until)
		}
		if until := firstID(at); f.query.Before == "" || until < f.query.Before {
			f.query.Before = until
		}
	}
	return f, ""
}

func (f *filter) fields() []*string {
	return []*string{&f.Status, &f.Tool, &f.Actor, &f.Key, &f.Fingerprint, &f.Reason, &f.Since, &f.Until, &f.Text, &f.Before}
}

// Any reports whether anything is narrowed, the page aside.
func (f filter) Any() bool {
	f.Before = ""
	for _, field := range f.fields() {
		if *field != "" {
			return true
		}
	}
	return false
}

// Rare reports whether one of the seldom fields is used.
func (f filter) Rare() bool { return f.Key+f.Fingerprint+f.Reason+f.Since+f.Until != "" }

// Values is the filter as an address has it.
func (f filter) Values() url.Values {
	values := url.Values{}
	for i, name := range []string{"status", "tool", "actor", "key", "fingerprint", "reason", "since", "until", "text", "before"} {
		if value := *f.fields()[i]; value != "" {
			values.Set(name, value)
		}
	}
	return values
}

// At is the address's query with another page's cursor. It is encoded.
func (f filter) At(before deed.OperationID) template.URL {
	f.Before = string(before)
	return template.URL(f.Values().Encode())
}

// First is the address's query of the first page.
func (f filter) First() template.URL { return f.At("") }

// statusesOf reads words such as "pending", "uncertain -failed", "-status:failed".
func statusesOf(words string) ([]deed.Status, string) {
	var in, out []deed.Status
	for _, word := range strings.FieldsFunc(words, func(r rune) bool { return r == ' ' || r == ',' }) {
		name, exclude := strings.CutPrefix(word, "-")
		name = strings.TrimPrefix(name, "status:")
		statuses := deed.Filter(name).Statuses()
		switch {
		case statuses == nil:
			return nil, fmt.Sprintf("there is no status %q; groups are pending, accepted, failed, uncertain, closed", name)
		case exclude:
			out = append(out, statuses...)
		default:
			in = append(in, statuses...)
		}
	}
	if len(in) == 0 && len(out) == 0 {
		return nil, ""
	}
	if len(in) == 0 {
		in = deed.Statuses()
	}
	kept := slices.DeleteFunc(slices.Clone(in), func(s deed.Status) bool { return slices.Contains(out, s) })
	if len(kept) == 0 {
		return nil, fmt.Sprintf("%q excludes every status", words)
	}
	slices.Sort(kept)
	return slices.Compact(kept), ""
}

// momentOf reads an age such as 90m, 24h or 7d, a day, or an RFC 3339 time with
// or without seconds.
func momentOf(text string, now time.Time) (time.Time, bool) {
	var days int
	if n, err := fmt.Sscanf(text, "%dd", &days); err == nil && n == 1 && text == fmt.Sprintf("%dd", days) && days >= 0 {
		return now.AddDate(0, 0, -days), true
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), true
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// firstID is the smallest id of operations begun at a moment or later: their
// first ten digits are milliseconds in base32.
func firstID(at time.Time) deed.OperationID {
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	ms := uint64(max(0, at.UnixMilli()))
	digits := []byte("00000000000000000000000000")
	for i := 9; i >= 0; i-- {
		digits[i] = alphabet[ms&31]
		ms >>= 5
	}
	return deed.OperationID("op_" + string(digits))
}

// matches reports whether a text occurs in what a listing knows of an
// operation: never in its arguments, which a listing does not load.
func (f filter) matches(op *deed.Operation) bool {
	text := strings.ToLower(f.Text)
	if text == "" {
		return true
	}
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	if has(string(op.ID)) || has(string(op.Tool)) || has(string(op.Actor)) || has(string(op.Matter)) || has(op.Message) ||
		has(op.DecidedBy) || has(string(op.Reason)) || has(keyOf(op)) {
		return true
	}
	for _, r := range op.Receipts {
		if has(r.RemoteID) || has(r.RemoteURL) {
			return true
		}
	}
	for _, value := range op.Meta {
		if has(value) {
			return true
		}
	}
	return false
}

// keyOf is the key of an operation where it may be shown.
func keyOf(op *deed.Operation) string {
	if op.Key.Family == deed.FamilySecret || op.Key.Provenance == deed.ProvenanceNone {
		return ""
	}
	return op.Key.Text
}
