// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"slices"
	"strings"
)

// veiled reports whether a path is that of another route than the one that names
// it, or of any where none does, in a spelling that many servers take for the
// same: another case, a slash at the end or an encoded one, a parameter of a
// segment (RFC 3986 section 3.3), a suffix for the format. What the other route
// demands must not be escaped by it, if guards says that it demands anything. A
// route that is one path, with nothing left open, names that path and no other.
func (rs *Routes) veiled(method string, segments []string, by *Route, guards func(*Route) bool) bool {
	if by != nil && !by.open() {
		return false
	}
	plain := plainPath(segments)
	for _, r := range rs.list {
		if r.serves(method) && r != by && r.veils(plain, by != nil) && (by == nil || !by.veils(plain, false) || r.moreExact(by)) && guards(r) {
			return true
		}
	}
	return false
}

// plainPath cuts a path into what a lenient server sees.
func plainPath(segments []string) []string {
	var list []string
	for _, segment := range segments {
		for _, part := range leniently(segment) {
			if part != "" {
				list = append(list, part)
			}
		}
	}
	return list
}

// veils reports whether a lenient server may take the path for the route's. Where
// a route names the path, what follows a dot has to be a format: me.smith is
// nobody's spelling of me.
func (r *Route) veils(plain []string, named bool) bool {
	own := r.withoutEnd()
	if len(own) != len(plain) {
		return false
	}
	for i, s := range own {
		text := plain[i]
		if s.name != "" || strings.EqualFold(s.literal, text) {
			continue
		}
		stem, format, suffixed := strings.Cut(text, ".")
		if i < len(own)-1 || !suffixed || !strings.EqualFold(s.literal, stem) || named && !isFormat(format) {
			return false
		}
	}
	return true
}

// withoutEnd are the segments without the empty one behind a slash at the end.
func (r *Route) withoutEnd() []segment {
	if n := len(r.segments); n > 0 && r.segments[n-1] == (segment{}) {
		return r.segments[:n-1]
	}
	return r.segments
}

// open reports whether the route has a place for any segment.
func (r *Route) open() bool {
	return slices.ContainsFunc(r.segments, func(s segment) bool { return s.name != "" })
}

// isFormat reports whether frameworks take a suffix for the format of the answer.
func isFormat(suffix string) bool {
	return slices.Contains([]string{"json", "xml", "html", "htm", "txt", "csv", "yaml", "yml", "js", "php", "do", "action"}, strings.ToLower(suffix))
}
