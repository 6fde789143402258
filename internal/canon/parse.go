// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon

import (
	"bytes"
	"fmt"
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
// literals point into src, and containers into arena: a tree is valid until its
// source changes or the parser is released.
type parser struct {
	src   []byte
	pos   int
	stack []member // members of the containers still open
	arena []member // members of the containers already read

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

// Pooled parsers keep this many members, so that one large document does not
// pin its memory.
const pooledMembers = 4096

// parsers caches memory between calls, never content.
var parsers = sync.Pool{New: func() any { return &parser{stack: make([]member, 0, 32), arena: make([]member, 0, 64)} }}

// newParser returns a pooled parser; the caller releases it when the tree is no
// longer needed.
func newParser() *parser { return parsers.Get().(*parser) }

func (p *parser) release() {
	if cap(p.stack) > pooledMembers || cap(p.arena) > pooledMembers {
		return
	}
	clear(p.stack)
	clear(p.arena)
	*p = parser{stack: p.stack[:0], arena: p.arena[:0]}
	parsers.Put(p)
}

// document reads doc strictly. limit is the greatest length in bytes.
func (p *parser) document(doc []byte, limit int64) (node, *Error) {
	if int64(len(doc)) > limit {
		return node{}, &Error{Code: CodeTooLarge, Detail: fmt.Sprintf("%d bytes exceed the limit of %d: send less, or pass large content by reference", len(doc), limit)}
	}
	if bytes.HasPrefix(doc, []byte("\xEF\xBB\xBF")) {
		return node{}, &Error{Code: CodeBOM, Detail: "the document starts with a byte order mark: send UTF-8 without one"}
	}
	p.src, p.pos = doc, 0
	p.skipSpace()
	root, e := p.value(1)
	if e != nil {
		return root, e
	}
	p.skipSpace()
	if p.pos < len(p.src) {
		return root, &Error{Code: CodeTrailingData, Detail: "data follows the value at byte " + strconv.Itoa(p.pos) + ": send exactly one JSON value"}
	}
	return root, nil
}

func (p *parser) value(depth int) (node, *Error) {
	if p.pos >= len(p.src) {
		return node{}, p.syntax("the document ends where a value should begin")
	}
	switch c := p.src[p.pos]; c {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	case '"':
		text, e := p.text()
		return node{kind: kindString, text: text}, e
	case 't':
		return p.literal("true", kindTrue)
	case 'f':
		return p.literal("false", kindFalse)
	case 'n':
		return p.literal("null", kindNull)
	default:
		if c == '-' || isDigit(c) {
			return p.number()
		}
		return node{}, p.syntax("no JSON value begins here")
	}
}

func (p *parser) object(depth int) (node, *Error) {
	if depth > MaxDepth {
		return node{}, tooDeep()
	}
	base := len(p.stack)
	comma := p.pos
	p.pos++
	p.skipSpace()
	if p.peek() == '}' {
		p.pos++
		return node{kind: kindObject}, nil
	}
	for {
		var m member
		var e *Error
		if p.peek() != '"' {
			return node{}, p.syntax("a member name in double quotes is missing")
		}
		start := p.pos
		if m.name, e = p.text(); e != nil {
			return node{}, e
		}
		p.skipSpace()
		if p.peek() != ':' {
			return node{}, p.syntax("a colon after the member name is missing")
		}
		p.pos++
		p.skipSpace()
		valueStart := p.pos
		if m.value, e = p.value(depth + 1); e != nil {
			return node{}, e.under(kindObject, m.name, 0)
		}
		end := p.pos
		p.stack = append(p.stack, m)
		p.skipSpace()
		c := p.peek()
		if c != ',' && c != '}' {
			return node{}, p.syntax("a comma or the closing brace is missing")
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
	kids := p.pop(base)
	if i := sortMembers(kids); i >= 0 {
		e := &Error{Code: CodeDuplicateMember, Detail: "the member name occurs more than once in its object: send each member once"}
		return node{}, e.under(kindObject, kids[i].name, 0)
	}
	return node{kind: kindObject, kids: kids}, nil
}

func (p *parser) array(depth int) (node, *Error) {
	if depth > MaxDepth {
		return node{}, tooDeep()
	}
	base := len(p.stack)
	p.pos++
	p.skipSpace()
	if p.peek() == ']' {
		p.pos++
		return node{kind: kindArray}, nil
	}
	for {
		value, e := p.value(depth + 1)
		if e != nil {
			return node{}, e.under(kindArray, nil, len(p.stack)-base)
		}
		p.stack = append(p.stack, member{value: value})
		p.skipSpace()
		c := p.peek()
		if c != ',' && c != ']' {
			return node{}, p.syntax("a comma or the closing bracket is missing")
		}
		p.pos++
		if c == ']' {
			break
		}
		p.skipSpace()
	}
	return node{kind: kindArray, kids: p.pop(base)}, nil
}

// pop moves the members above base from the stack to the arena.
func (p *parser) pop(base int) []member {
	open := p.stack[base:]
	if cap(p.arena)-len(p.arena) < len(open) {
		p.arena = make([]member, 0, max(2*cap(p.arena), len(open)))
	}
	from := len(p.arena)
	p.arena = append(p.arena, open...)
	clear(open)
	p.stack = p.stack[:base]
	return p.arena[from:len(p.arena):len(p.arena)]
}

func (p *parser) literal(word string, k kind) (node, *Error) {
	if len(p.src)-p.pos < len(word) || string(p.src[p.pos:p.pos+len(word)]) != word {
		return node{}, p.syntax("no JSON value begins here")
	}
	p.pos += len(word)
	return node{kind: k}, nil
}

func (p *parser) number() (node, *Error) {
	n := scanNumber(p.src[p.pos:])
	if n == 0 {
		return node{}, p.syntax("the number is not written as JSON writes numbers")
	}
	literal := p.src[p.pos : p.pos+n]
	p.pos += n
	return node{kind: kindNumber, text: literal}, checkNumber(literal)
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
