// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// pattern is a compiled rule pointer: RFC 6901 plus the whole segment "*".
type pattern struct {
	source   string
	segments []segment
}

// segment addresses children of one container. index is -1 when the segment
// cannot be an array index (RFC 6901 section 4: digits without leading zero).
type segment struct {
	name  []byte
	index int
	every bool
}

// parsePointer compiles a pointer. The problem is empty when it is valid.
func parsePointer(source string) (p pattern, problem string) {
	p.source = source
	if source == "" {
		return p, ""
	}
	if source[0] != '/' {
		return p, "a pointer begins with a slash: write \"/" + source + "\""
	}
	if !utf8.ValidString(source) {
		return p, "a pointer must be UTF-8"
	}
	for part := range strings.SplitSeq(source[1:], "/") {
		if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(part), "~") {
			return p, "a tilde in a pointer is written ~0 and a slash inside a name ~1"
		}
		name := strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		p.segments = append(p.segments, segment{name: []byte(name), index: arrayIndex(name), every: part == "*"})
	}
	return p, ""
}

func arrayIndex(name string) int {
	if name == "" || len(name) > 9 || name[0] == '0' && len(name) > 1 {
		return -1
	}
	index := 0
	for i := range len(name) {
		if !isDigit(name[i]) {
			return -1
		}
		index = index*10 + int(name[i]-'0')
	}
	return index
}

// match returns the range of n.kids that the segment addresses.
func (s *segment) match(n *node) (from, to int) {
	switch {
	case !n.isContainer():
		return 0, 0
	case s.every:
		return 0, len(n.kids)
	case n.kind == kindObject:
		if i, ok := n.find(s.name); ok {
			return i, i + 1
		}
	case s.index >= 0 && s.index < len(n.kids):
		return s.index, s.index + 1
	}
	return 0, 0
}

// covers reports whether every place that b addresses lies at or below a place
// that a addresses.
func (a pattern) covers(b pattern) bool { return a.coversBy(bytes.Equal, b) }

func (a pattern) coversBy(equal func(x, y []byte) bool, b pattern) bool {
	if len(a.segments) > len(b.segments) {
		return false
	}
	for i, s := range a.segments {
		if !s.every && (b.segments[i].every || !equal(s.name, b.segments[i].name)) {
			return false
		}
	}
	return true
}

// comparePatterns orders deeper places first and later array elements before
// earlier ones, so that removing one place never moves another.
func comparePatterns(a, b pattern) int {
	if order := cmp.Compare(len(b.segments), len(a.segments)); order != 0 {
		return order
	}
	for i := range a.segments {
		if order := cmp.Compare(b.segments[i].index, a.segments[i].index); order != 0 {
			return order
		}
		if order := bytes.Compare(b.segments[i].name, a.segments[i].name); order != 0 {
			return order
		}
	}
	return 0
}

func sortPatterns(patterns []pattern) []pattern {
	slices.SortFunc(patterns, comparePatterns)
	return slices.CompactFunc(patterns, func(a, b pattern) bool { return a.source == b.source })
}
