// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// Limits of every parse. They bound recursion and the cost of a hostile
// document; the size limit is chosen by the caller.
const (
	MaxDepth        = 64  // nested containers, the root included
	MaxNumberLength = 256 // characters of a number literal
)

// parser reads one document in one pass. Strings without escapes and number
// literals point into src, so a tree must not outlive or outrun its source.
type parser struct {
	src   []byte
	pos   int
	stack []member // members of the containers still open

	// watched, when not nil, is a member name of the root object whose place
	// is recorded in found.
	watched []byte
	found   span
}

// span is the place of one member of the root object.
type span struct {
	ok                     bool
	first, last            bool // no member before, no member after
	name, value, end, next int  // next: name of the following member, or the closing brace
	previousComma          int
}

var parsers = sync.Pool{New: func() any { return &parser{stack: make([]member, 0, 32)} }}

// parse reads doc strictly. limit is the greatest length in bytes.
func parse(doc []byte, limit int64) (node, *Error) {
	p := parsers.Get().(*parser)
	root, e := p.document(doc, limit)
	p.release()
	return root, e
}

func (p *parser) release() {
	if cap(p.stack) > 4096 {
		p.stack = make([]member, 0, 32)
	}
	clear(p.stack)
	p.stack = p.stack[:0]
	p.src, p.pos, p.watched, p.found = nil, 0, nil, span{}
	parsers.Put(p)
}

func (p *parser) document(doc []byte, limit int64) (node, *Error) {
	var root node
	if int64(len(doc)) > limit {
		return root, &Error{Code: CodeTooLarge, Detail: fmt.Sprintf("%d bytes exceed the limit of %d: send less, or pass large content by reference", len(doc), limit)}
	}
	if bytes.HasPrefix(doc, []byte("\xEF\xBB\xBF")) {
		return root, &Error{Code: CodeBOM, Detail: "the document starts with a byte order mark: send UTF-8 without one"}
	}
	p.src, p.pos = doc, 0
	p.skipSpace()
	if e := p.value(&root, 1); e != nil {
		return root, e
	}
	p.skipSpace()
	if p.pos < len(p.src) {
		return root, &Error{Code: CodeTrailingData, Detail: "data follows the value at byte " + strconv.Itoa(p.pos) + ": send exactly one JSON value"}
	}
	return root, nil
}

func (p *parser) value(dst *node, depth int) *Error {
	if p.pos >= len(p.src) {
		return p.syntax("the document ends where a value should begin")
	}
	switch c := p.src[p.pos]; c {
	case '{':
		return p.object(dst, depth)
	case '[':
		return p.array(dst, depth)
	case '"':
		text, e := p.text()
		dst.kind, dst.text = kindString, text
		return e
	case 't':
		return p.literal(dst, "true", kindTrue)
	case 'f':
		return p.literal(dst, "false", kindFalse)
	case 'n':
		return p.literal(dst, "null", kindNull)
	default:
		if c == '-' || isDigit(c) {
			return p.number(dst)
		}
		return p.syntax("no JSON value begins here")
	}
}

func (p *parser) object(dst *node, depth int) *Error {
	if depth > MaxDepth {
		return tooDeep()
	}
	base := len(p.stack)
	comma := p.pos
	p.pos++
	p.skipSpace()
	if p.peek() == '}' {
		p.pos++
		dst.kind = kindObject
		return nil
	}
	for {
		var m member
		var e *Error
		if p.peek() != '"' {
			return p.syntax("a member name in double quotes is missing")
		}
		start := p.pos
		if m.name, e = p.text(); e != nil {
			return e
		}
		p.skipSpace()
		if p.peek() != ':' {
			return p.syntax("a colon after the member name is missing")
		}
		p.pos++
		p.skipSpace()
		valueStart := p.pos
		if e = p.value(&m.value, depth+1); e != nil {
			return e.under(kindObject, m.name, 0)
		}
		end := p.pos
		p.stack = append(p.stack, m)
		p.skipSpace()
		c := p.peek()
		if c != ',' && c != '}' {
			return p.syntax("a comma or the closing brace is missing")
		}
		at := p.pos
		p.pos++
		if c == ',' {
			p.skipSpace()
		}
		if depth == 1 && p.watched != nil && bytes.Equal(m.name, p.watched) {
			p.found = span{ok: true, first: len(p.stack) == base+1, last: c == '}', name: start, value: valueStart, end: end, next: p.pos, previousComma: comma}
		}
		comma = at
		if c == '}' {
			break
		}
	}
	dst.kind, dst.kids = kindObject, p.pop(base)
	if i := sortMembers(dst.kids); i >= 0 {
		e := &Error{Code: CodeDuplicateMember, Detail: "the member name occurs more than once in its object: send each member once"}
		return e.under(kindObject, dst.kids[i].name, 0)
	}
	return nil
}

func (p *parser) array(dst *node, depth int) *Error {
	if depth > MaxDepth {
		return tooDeep()
	}
	base := len(p.stack)
	p.pos++
	p.skipSpace()
	if p.peek() == ']' {
		p.pos++
		dst.kind = kindArray
		return nil
	}
	for {
		var m member
		if e := p.value(&m.value, depth+1); e != nil {
			return e.under(kindArray, nil, len(p.stack)-base)
		}
		p.stack = append(p.stack, m)
		p.skipSpace()
		c := p.peek()
		if c != ',' && c != ']' {
			return p.syntax("a comma or the closing bracket is missing")
		}
		p.pos++
		if c == ']' {
			break
		}
		p.skipSpace()
	}
	dst.kind, dst.kids = kindArray, p.pop(base)
	return nil
}

// pop moves the members above base off the stack.
func (p *parser) pop(base int) []member {
	kids := slices.Clone(p.stack[base:])
	clear(p.stack[base:])
	p.stack = p.stack[:base]
	return kids
}

func (p *parser) literal(dst *node, word string, k kind) *Error {
	if !bytes.HasPrefix(p.src[p.pos:], []byte(word)) {
		return p.syntax("no JSON value begins here")
	}
	p.pos += len(word)
	dst.kind = k
	return nil
}

func (p *parser) number(dst *node) *Error {
	n := scanNumber(p.src[p.pos:])
	if n == 0 {
		return p.syntax("the number is not written as JSON writes numbers")
	}
	dst.kind, dst.text = kindNumber, p.src[p.pos:p.pos+n]
	p.pos += n
	return checkNumber(dst.text)
}

func (p *parser) skipSpace() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0, which no JSON token starts with.
func (p *parser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

func (p *parser) syntax(problem string) *Error {
	return &Error{Code: CodeSyntax, Detail: problem + " (byte " + strconv.Itoa(p.pos) + "): send JSON as in RFC 8259"}
}

func tooDeep() *Error {
	return &Error{Code: CodeTooDeep, Detail: "containers are nested deeper than " + strconv.Itoa(MaxDepth) + " levels: send a flatter document"}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
