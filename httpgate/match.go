// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// segment is a literal, or a place for any one segment, which then has a name.
type segment struct{ literal, name string }

func parsePattern(pattern string) ([]segment, error) {
	if !strings.HasPrefix(pattern, "/") {
		return nil, fmt.Errorf("the path %q does not begin with a slash", pattern)
	}
	var list []segment
	names := map[string]bool{}
	stars := 0
	for text := range strings.SplitSeq(pattern[1:], "/") {
		s := segment{literal: text}
		switch {
		case text == "*":
			stars++
			s = segment{name: strconv.Itoa(stars)}
		case strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") && len(text) > 2:
			s = segment{name: text[1 : len(text)-1]}
		case strings.ContainsAny(text, "*{}?#"):
			return nil, fmt.Errorf("the segment %q is neither a literal nor * nor {name}", text)
		}
		if s.name != "" && names[s.name] {
			return nil, fmt.Errorf("the name %q stands for two segments", s.name)
		}
		names[s.name] = s.name != ""
		list = append(list, s)
	}
	return list, nil
}

// shape is the same for routes that match the same requests.
func (r *Route) shape() string {
	var b strings.Builder
	b.WriteString(r.Method)
	for _, s := range r.segments {
		b.WriteString("/" + s.literal)
		if s.name != "" {
			b.WriteString("*")
		}
	}
	return b.String()
}

// splitPath returns the segments of a path, unescaped one by one, so that an
// escaped slash stays within its segment. It is false for paths that servers
// read in more than one way, whatever the routes are: those that are not
// absolute, with an empty segment before the last one, or with a segment that
// leads elsewhere.
func splitPath(escaped string) ([]string, bool) {
	if !strings.HasPrefix(escaped, "/") {
		return nil, false
	}
	var list []string
	parts := strings.Split(escaped[1:], "/")
	for i, text := range parts {
		plain, err := url.PathUnescape(text)
		if err != nil || strings.ContainsRune(plain, 0) || plain == "" && i < len(parts)-1 || leadsElsewhere(plain) {
			return nil, false
		}
		list = append(list, plain)
	}
	return list, true
}

// leadsElsewhere reports whether a server that takes an encoded slash, or a
// backslash, for a slash finds a dot segment in it (RFC 3986 section 3.3), also
// behind a second encoding or in front of a parameter.
func leadsElsewhere(segment string) bool {
	for _, part := range leniently(segment) {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}

// leniently takes a segment apart into what a lenient server sees: it decodes once
// more, splits at every slash, and drops parameters.
func leniently(segment string) []string {
	for range mostEncodings {
		again, err := url.PathUnescape(segment)
		if err != nil || again == segment {
			break
		}
		segment = again
	}
	list := strings.FieldsFunc(segment, func(r rune) bool { return r == '/' || r == '\\' })
	for i, part := range list {
		list[i], _, _ = strings.Cut(part, ";")
	}
	return list
}

// mostEncodings bounds how often a segment is decoded; proxies in a row may each
// do it once.
const mostEncodings = 4

// value is what stands in the place of a named segment.
type value struct{ name, text string }

func (r *Route) match(segments []string) ([]value, bool) {
	if len(segments) != len(r.segments) {
		return nil, false
	}
	var values []value
	for i, s := range r.segments {
		switch {
		case s.name == "" && s.literal != segments[i], s.name != "" && segments[i] == "":
			return nil, false
		case s.name != "":
			values = append(values, value{s.name, segments[i]})
		}
	}
	return values, true
}

// moreExact prefers the route with the earlier literal, of two that match the same
// segments.
func (r *Route) moreExact(other *Route) bool {
	others := other.withoutEnd()
	for i, s := range r.withoutEnd() {
		if literal := s.name == ""; literal != (others[i].name == "") {
			return literal
		}
	}
	return false
}

// wholePath is the path as the value of a request that no route names. A slash
// within a segment is not one between two, and the effect is another.
func wholePath(segments []string) []value {
	whole := []value{{"*", "/" + strings.Join(segments, "/")}}
	if slices.ContainsFunc(segments, func(s string) bool { return strings.Contains(s, "/") }) {
		whole = append(whole, value{"**", canonical(segments)})
	}
	return whole
}

// find returns the route of a request, else the one that stands for its method,
// whose one value is the whole path. It is nil for methods that are not known.
func (rs *Routes) find(method string, segments []string) (route *Route, values []value, named bool) {
	better := func(a, b *Route) bool {
		if own := a.Method == method; own != (b.Method == method) {
			return own
		}
		return a.moreExact(b)
	}
	for _, candidate := range rs.list {
		if !candidate.serves(method) {
			continue
		}
		if found, ok := candidate.match(segments); ok && (route == nil || better(candidate, route)) {
			route, values = candidate, found
		}
	}
	if route != nil {
		return route, values, true
	}
	for _, other := range rs.byTool {
		if other.segments == nil && other.Method == method {
			return other, wholePath(segments), false
		}
	}
	return nil, nil, false
}
