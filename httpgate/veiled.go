// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import "strings"

// veiled reports whether a path that no route names is that of a route in a
// spelling that many servers take for the same: another case, a slash at the
// end or an encoded one, a parameter of a segment (RFC 3986 section 3.3), a
// suffix for the format. What the route demands must not be escaped by it.
func (rs *Routes) veiled(method string, segments []string) bool {
	plain := plainPath(segments)
	for _, r := range rs.list {
		if r.Method == method && r.veils(plain) {
			return true
		}
	}
	return false
}

// plainPath cuts a path into what a lenient server sees.
func plainPath(segments []string) []string {
	var list []string
	for _, segment := range segments {
		for part := range strings.SplitSeq(segment, "/") {
			if part, _, _ = strings.Cut(part, ";"); part != "" {
				list = append(list, part)
			}
		}
	}
	return list
}

func (r *Route) veils(plain []string) bool {
	own := r.segments
	if n := len(own); n > 0 && own[n-1] == (segment{}) {
		own = own[:n-1]
	}
	if len(own) != len(plain) {
		return false
	}
	for i, s := range own {
		text := plain[i]
		if s.name != "" || strings.EqualFold(s.literal, text) {
			continue
		}
		if stem, _, suffixed := strings.Cut(text, "."); i < len(own)-1 || !suffixed || !strings.EqualFold(s.literal, stem) {
			return false
		}
	}
	return true
}
