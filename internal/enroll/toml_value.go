// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

func (s *tomlScanner) value(depth int) (node, error) {
	if depth > maxDepth {
		return node{}, s.fail(s.at, "nested deeper than %d levels", maxDepth)
	}
	switch s.peek() {
	case '"', '\'':
		return s.text()
	case '[':
		return s.array(depth)
	case '{':
		return s.inlineTable(depth)
	}
	start := s.at
	for s.at < len(s.src) && !bytes.ContainsRune([]byte(",]}#\r\n"), rune(s.src[s.at])) {
		s.at++
	}
	text := strings.TrimRight(string(s.src[start:s.at]), " \t")
	s.at = start + len(text)
	if text == "" {
		return node{}, s.fail(start, "expected a value")
	}
	if strings.ContainsAny(text, "\"'=[{") {
		return node{}, s.fail(start, "expected a value, found %q", text)
	}
	return node{kind: scalarNode, start: start, end: s.at, text: text}, nil
}

func (s *tomlScanner) array(depth int) (node, error) {
	n := node{kind: arrayNode, start: s.at}
	s.at++
	for {
		s.blank(true)
		if s.peek() == ']' {
			s.at++
			n.end = s.at
			return n, nil
		}
		if s.at == len(s.src) {
			return n, s.fail(n.start, "the array is never closed")
		}
		v, err := s.value(depth + 1)
		if err != nil {
			return n, err
		}
		n.elements = append(n.elements, v)
		s.blank(true)
		if s.peek() == ',' {
			s.at++
		} else if s.peek() != ']' && s.at < len(s.src) {
			return n, s.fail(s.at, "expected ',' or ']' in the array that starts on line %d", lineAt(s.src, n.start))
		}
	}
}

func (s *tomlScanner) inlineTable(depth int) (node, error) {
	n := node{kind: objectNode, start: s.at}
	s.at++
	for first := true; ; first = false {
		s.blank(false)
		if s.peek() == '}' && first {
			break
		}
		m, err := s.assignment(depth + 1)
		if err != nil {
			return n, err
		}
		n.members = append(n.members, m)
		s.blank(false)
		if s.peek() == '}' {
			break
		}
		if s.peek() != ',' {
			return n, s.fail(s.at, "expected ',' or '}' in the inline table that starts on line %d", lineAt(s.src, n.start))
		}
		s.at++
	}
	s.at++
	n.end = s.at
	return n, nil
}

// text reads any of TOML's four kinds of string.
func (s *tomlScanner) text() (node, error) {
	n := node{kind: stringNode, start: s.at}
	quote := s.peek()
	fence := string(quote)
	if long := strings.Repeat(fence, 3); s.starts(long) {
		fence = long
	}
	s.at += len(fence)
	var raw strings.Builder
	if len(fence) == 3 {
		s.at += len(s.src[s.at:]) - len(trimNewline(s.src[s.at:]))
	}
	for !s.starts(fence) {
		switch {
		case s.at == len(s.src):
			return n, s.fail(n.start, "the string is never closed")
		case len(fence) == 1 && s.peek() == '\n':
			return n, s.fail(n.start, "the string is not closed on its line")
		case quote == '"' && s.peek() == '\\':
			if err := s.escape(&raw, len(fence) == 3); err != nil {
				return n, err
			}
		default:
			raw.WriteByte(s.peek())
			s.at++
		}
	}
	s.at += len(fence)
	// Up to two quotes may touch the closing fence from inside (TOML 1.0, string).
	for extra := 0; len(fence) == 3 && extra < 2 && s.peek() == quote; extra++ {
		raw.WriteByte(quote)
		s.at++
	}
	n.end, n.text = s.at, raw.String()
	return n, nil
}

func (s *tomlScanner) escape(raw *strings.Builder, long bool) error {
	start := s.at
	s.at++
	simple := map[byte]byte{'b': '\b', 't': '\t', 'n': '\n', 'f': '\f', 'r': '\r', '"': '"', '\\': '\\'}
	c := s.peek()
	if plain, ok := simple[c]; ok {
		raw.WriteByte(plain)
		s.at++
		return nil
	}
	if width := map[byte]int{'u': 4, 'U': 8}[c]; width > 0 && s.at+1+width <= len(s.src) {
		code, err := strconv.ParseUint(string(s.src[s.at+1:s.at+1+width]), 16, 32)
		if err == nil && utf8.ValidRune(rune(code)) {
			raw.WriteRune(rune(code))
			s.at += 1 + width
			return nil
		}
	}
	rest := bytes.TrimLeft(s.src[s.at:], " \t")
	if long && len(trimNewline(rest)) < len(rest) {
		s.at = len(s.src) - len(bytes.TrimLeft(rest, " \t\r\n"))
		return nil
	}
	return s.fail(start, "an escape TOML does not know")
}

func trimNewline(b []byte) []byte {
	return bytes.TrimPrefix(bytes.TrimPrefix(b, []byte("\r")), []byte("\n"))
}
