// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"bytes"
	"fmt"
	"strings"
)

// statement is one "key = value" line of a TOML file (the value may span
// lines), with the tables above it folded into path.
type statement struct {
	path     []string
	line     member // key as written, without the table
	tableLen int    // how many parts of path come from the table header
}

// table is one [header].
type table struct {
	path  []string
	start int
	array bool // [[header]]
}

// tomlScanner reads TOML 1.0 as far as places are concerned: strings, arrays,
// inline tables, keys and comments exactly; numbers and dates only as text.
type tomlScanner struct {
	src        []byte
	at         int
	statements []statement
	tables     []table
}

func scanTOML(src []byte) (*tomlScanner, error) {
	s := &tomlScanner{src: src}
	s.at = len(src) - len(bytes.TrimPrefix(src, []byte("\ufeff")))
	var current []string
	for {
		s.blank(true)
		if s.at == len(s.src) {
			return s, nil
		}
		if s.peek() == '[' {
			t, err := s.header()
			if err != nil {
				return nil, err
			}
			s.tables = append(s.tables, t)
			current = t.path
		} else {
			m, err := s.assignment(0)
			if err != nil {
				return nil, err
			}
			path := append(append([]string{}, current...), m.key...)
			s.statements = append(s.statements, statement{path: path, line: m, tableLen: len(current)})
		}
		if err := s.endOfLine(); err != nil {
			return nil, err
		}
	}
}

func (s *tomlScanner) fail(offset int, format string, args ...any) error {
	return &syntaxError{offset: offset, problem: "TOML that cannot be read: " + fmt.Sprintf(format, args...), remedy: "correct that line and run the command again"}
}

func (s *tomlScanner) peek() byte {
	if s.at < len(s.src) {
		return s.src[s.at]
	}
	return 0
}

func (s *tomlScanner) starts(prefix string) bool {
	return bytes.HasPrefix(s.src[s.at:], []byte(prefix))
}

// blank skips spaces and tabs, and with lines also newlines and comments.
func (s *tomlScanner) blank(lines bool) {
	for s.at < len(s.src) {
		switch c := s.src[s.at]; {
		case c == ' ' || c == '\t':
			s.at++
		case lines && (c == '\n' || c == '\r'):
			s.at++
		case lines && c == '#':
			s.comment()
		default:
			return
		}
	}
}

func (s *tomlScanner) comment() {
	if i := bytes.IndexByte(s.src[s.at:], '\n'); i >= 0 {
		s.at += i
	} else {
		s.at = len(s.src)
	}
}

func (s *tomlScanner) endOfLine() error {
	s.blank(false)
	if s.peek() == '#' {
		s.comment()
	}
	if s.at == len(s.src) || s.starts("\n") || s.starts("\r\n") {
		return nil
	}
	return s.fail(s.at, "expected the end of the line, found %q", s.peek())
}

func (s *tomlScanner) header() (table, error) {
	t := table{start: s.at, array: s.starts("[[")}
	closing := "]"
	if t.array {
		closing = "]]"
	}
	s.at += len(closing)
	var err error
	if t.path, err = s.key(); err != nil {
		return t, err
	}
	if !s.starts(closing) {
		return t, s.fail(t.start, "the table header is not closed with %q", closing)
	}
	s.at += len(closing)
	return t, nil
}

func (s *tomlScanner) assignment(depth int) (member, error) {
	m := member{keyStart: s.at}
	var err error
	if m.key, err = s.key(); err != nil {
		return m, err
	}
	m.keyEnd = m.keyStart + len(bytes.TrimRight(s.src[m.keyStart:s.at], " \t"))
	if s.peek() != '=' {
		return m, s.fail(s.at, "expected '=' after the key %q", strings.Join(m.key, "."))
	}
	s.at++
	s.blank(false)
	m.value, err = s.value(depth)
	return m, err
}

// key reads a dotted key and the blanks after it.
func (s *tomlScanner) key() ([]string, error) {
	var parts []string
	for {
		s.blank(false)
		start := s.at
		switch s.peek() {
		case '"', '\'':
			if s.starts(`"""`) || s.starts("'''") {
				return nil, s.fail(s.at, "a key cannot be a multi-line string")
			}
			n, err := s.text()
			if err != nil {
				return nil, err
			}
			parts = append(parts, n.text)
		default:
			for isBareKey(s.peek()) {
				s.at++
			}
			if s.at == start {
				return nil, s.fail(start, "expected a key")
			}
			parts = append(parts, string(s.src[start:s.at]))
		}
		s.blank(false)
		if s.peek() != '.' {
			return parts, nil
		}
		s.at++
	}
}

func isBareKey(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
