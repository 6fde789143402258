// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/deed-run/deed/internal/canon"
)

// change is one path at which two documents differ, with both values. A value
// that is not there is empty and Kind says so.
type change struct {
	Path string
	// Kind is changed, added or removed.
	Kind   string
	Before []run
	After  []run
}

const (
	// maxChanges bounds a difference that people look at.
	maxChanges = 200
	// shownValue is how much of a value a difference shows.
	shownValue = 2000
)

// difference tells where two JSON documents mean something else: by JSON
// pointer (RFC 6901), whatever their order of members and spelling of numbers.
// Documents that are no JSON differ as a whole.
func difference(before, after []byte) (changes []change, more bool) {
	a, errA := canon.CanonicalJSON(before)
	b, errB := canon.CanonicalJSON(after)
	if errA != nil || errB != nil {
		if bytes.Equal(before, after) {
			return nil, false
		}
		return []change{{"", "changed", visible(string(before), shownValue), visible(string(after), shownValue)}}, false
	}
	d := &differ{}
	d.compare("", decoded(a), decoded(b))
	return d.changes, d.more
}

func decoded(doc []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return string(doc)
	}
	return value
}

type differ struct {
	changes []change
	more    bool
}

func (d *differ) note(path, kind string, before, after []run) {
	if len(d.changes) >= maxChanges {
		d.more = true
		return
	}
	d.changes = append(d.changes, change{path, kind, before, after})
}

func (d *differ) compare(path string, a, b any) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			d.members(path, x, y)
			return
		}
	case []any:
		if y, ok := b.([]any); ok {
			d.elements(path, x, y)
			return
		}
	}
	if text(a) != text(b) {
		d.note(path, "changed", runsOf(a), runsOf(b))
	}
}

func (d *differ) members(path string, a, b map[string]any) {
	names := map[string]bool{}
	for name := range a {
		names[name] = true
	}
	for name := range b {
		names[name] = true
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		at := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		x, inA := a[name]
		y, inB := b[name]
		switch {
		case !inB:
			d.note(at, "removed", runsOf(x), nil)
		case !inA:
			d.note(at, "added", nil, runsOf(y))
		default:
			d.compare(at, x, y)
		}
	}
}

// elements leaves out what the lists begin and end with alike; of the rest it
// compares place by place.
func (d *differ) elements(path string, a, b []any) {
	begin := 0
	for begin < len(a) && begin < len(b) && text(a[begin]) == text(b[begin]) {
		begin++
	}
	endA, endB := len(a), len(b)
	for endA > begin && endB > begin && text(a[endA-1]) == text(b[endB-1]) {
		endA--
		endB--
	}
	for i := begin; i < max(endA, endB); i++ {
		at := path + "/" + strconv.Itoa(i)
		switch {
		case i >= endB:
			d.note(at, "removed", runsOf(a[i]), nil)
		case i >= endA:
			d.note(at, "added", nil, runsOf(b[i]))
		default:
			d.compare(at, a[i], b[i])
		}
	}
}

// text is a value as canonical JSON: members sorted, nothing escaped for HTML.
func text(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func runsOf(value any) []run {
	return visibleJSON(text(value), shownValue)
}
