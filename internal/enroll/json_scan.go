// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// jsonScanner reads RFC 8259 JSON, and with relaxed set also the comments and
// trailing commas that editors allow in their own configuration files.
type jsonScanner struct {
	src     []byte
	at      int
	relaxed bool
}

// scanJSON reads a whole file: one value, nothing after it.
func scanJSON(src []byte, relaxed bool) (node, error) {
	s := &jsonScanner{src: src, relaxed: relaxed}
	s.at = len(src) - len(bytes.TrimPrefix(src, []byte("\ufeff")))
	if err := s.space(); err != nil {
		return node{}, err
	}
	if s.at == len(src) {
		return node{}, s.fail(s.at, "the file is empty")
	}
	n, err := s.value(0)
	if err != nil {
		return node{}, err
	}
	if err := s.space(); err != nil {
		return node{}, err
	}
	if s.at < len(src) {
		return node{}, s.fail(s.at, "there is more text after the end of the JSON value")
	}
	return n, nil
}

func (s *jsonScanner) fail(offset int, format string, args ...any) error {
	return &syntaxError{offset: offset, problem: "malformed JSON: " + fmt.Sprintf(format, args...), remedy: "correct that line and run the command again"}
}

func (s *jsonScanner) peek() byte {
	if s.at < len(s.src) {
		return s.src[s.at]
	}
	return 0
}

func (s *jsonScanner) describe() string {
	if s.at >= len(s.src) {
		return "the end of the file"
	}
	r, _ := utf8.DecodeRune(s.src[s.at:])
	return fmt.Sprintf("%q", r)
}

func (s *jsonScanner) space() error {
	for s.at < len(s.src) {
		switch s.src[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		case '/':
			if err := s.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (s *jsonScanner) comment() error {
	rest := s.src[s.at:]
	line, block := bytes.HasPrefix(rest, []byte("//")), bytes.HasPrefix(rest, []byte("/*"))
	switch {
	case !line && !block:
		return s.fail(s.at, "found '/' where no value can start")
	case !s.relaxed:
		return s.fail(s.at, "a comment, which this client does not accept")
	case line:
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			s.at += i
		} else {
			s.at = len(s.src)
		}
	default:
		i := bytes.Index(rest[2:], []byte("*/"))
		if i < 0 {
			return s.fail(s.at, "the comment is never closed")
		}
		s.at += i + 4
	}
	return nil
}

func (s *jsonScanner) value(depth int) (node, error) {
	if depth > maxDepth {
		return node{}, s.fail(s.at, "nested deeper than %d levels", maxDepth)
	}
	switch c := s.peek(); c {
	case '{':
		return s.object(depth)
	case '[':
		return s.array(depth)
	case '"':
		return s.text()
	default:
		return s.scalar()
	}
}

func (s *jsonScanner) text() (node, error) {
	start := s.at
	for s.at++; s.at < len(s.src); s.at++ {
		switch c := s.src[s.at]; {
		case c == '\\':
			s.at++
		case c == '\n':
			return node{}, s.fail(start, "the string is not closed on its line")
		case c == '"':
			s.at++
			n := node{kind: stringNode, start: start, end: s.at}
			if err := json.Unmarshal(s.src[start:s.at], &n.text); err != nil {
				return node{}, s.fail(start, "the string is not valid: %v", err)
			}
			return n, nil
		}
	}
	return node{}, s.fail(start, "the string is never closed")
}

func (s *jsonScanner) scalar() (node, error) {
	start := s.at
	for s.at < len(s.src) && !bytes.ContainsRune([]byte(" \t\r\n,:]}[{\"/"), rune(s.src[s.at])) {
		s.at++
	}
	n := node{kind: scalarNode, start: start, end: s.at, text: string(s.src[start:s.at])}
	if !json.Valid([]byte(n.text)) {
		s.at = start
		return node{}, s.fail(start, "expected a value, found %s", s.describe())
	}
	return n, nil
}
