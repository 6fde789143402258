// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"strings"
)

// source is where an id or an address comes from: a pointer into the answer's body, a header of it ("header:ETag"), or a template over the
// arguments ("{bucket}/{key}"), for providers whose client names the thing.
type source struct {
	pointer, header string
	sent            *template
}

func (s source) empty() bool { return s.pointer == "" && s.header == "" && s.sent == nil }

// of reads the source; "" where there is nothing.
func (s source) of(a answer, args arguments) string {
	switch {
	case s.pointer != "" && a.json:
		text, _ := scalarAt(a.body, s.pointer)
		return text
	case s.header != "":
		return a.header.Get(s.header)
	case s.sent != nil:
		text, err := s.sent.expand(args, nil)
		if err == nil {
			return text
		}
	}
	return ""
}

func (r *reader) source(at place, into *source) {
	text, ok := r.text(at)
	if !ok {
		return
	}
	name, isHeader := strings.CutPrefix(text, "header:")
	switch {
	case isHeader:
		if !token.MatchString(strings.TrimSpace(name)) {
			r.refuse(at, "names no header", "write such as header:Location")
			return
		}
		into.header = strings.TrimSpace(name)
	case placeholder.MatchString(text):
		into.sent = r.template(at, text, true)
	default:
		if pointer, ok := r.pointer(at); ok {
			into.pointer = pointer
		}
	}
}
