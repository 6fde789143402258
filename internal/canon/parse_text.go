// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string token and returns its characters, unescaped. Without
// escapes the result points into the source.
func (p *parser) text() ([]byte, *Error) {
	p.pos++
	start := p.pos
	ascii := true
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == '"':
			raw := p.src[start:p.pos:p.pos]
			p.pos++
			if !ascii && !utf8.Valid(raw) {
				return nil, invalidUTF8(start)
			}
			return raw, nil
		case c == '\\':
			return p.escapedText(start)
		case c < 0x20:
			return nil, p.syntax("a control character stands unescaped in a string")
		case c >= utf8.RuneSelf:
			ascii = false
		}
		p.pos++
	}
	return nil, p.syntax("a string is not closed")
}

// escapedText continues a string at its first escape.
func (p *parser) escapedText(start int) ([]byte, *Error) {
	out := make([]byte, 0, p.pos-start+64)
	from := start
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == '"':
			out = append(out, p.src[from:p.pos]...)
			p.pos++
			// Escapes add whole characters, so the result is valid exactly
			// when the unescaped parts are.
			if !utf8.Valid(out) {
				return nil, invalidUTF8(start)
			}
			return out, nil
		case c == '\\':
			out = append(out, p.src[from:p.pos]...)
			var e *Error
			if out, e = p.escape(out); e != nil {
				return nil, e
			}
			from = p.pos
		case c < 0x20:
			return nil, p.syntax("a control character stands unescaped in a string")
		default:
			p.pos++
		}
	}
	return nil, p.syntax("a string is not closed")
}

func (p *parser) escape(out []byte) ([]byte, *Error) {
	if p.pos+1 >= len(p.src) {
		return nil, p.syntax("a string is not closed")
	}
	c := p.src[p.pos+1]
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		return p.unicodeEscape(out)
	default:
		return nil, p.syntax("a string has an escape that JSON does not know")
	}
	p.pos += 2
	return append(out, c), nil
}

func (p *parser) unicodeEscape(out []byte) ([]byte, *Error) {
	r, ok := p.hex(p.pos)
	if !ok {
		return nil, p.syntax("a \\u escape needs four hexadecimal digits")
	}
	at := p.pos
	p.pos += 6
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(out, r), nil
	}
	low, ok := p.hex(p.pos)
	pair := utf16.DecodeRune(r, low)
	if !ok || pair == utf8.RuneError {
		return nil, &Error{Code: CodeLoneSurrogate, Detail: "a \\u escape at byte " + strconv.Itoa(at) + " is half of a surrogate pair: send the whole character"}
	}
	p.pos += 6
	return utf8.AppendRune(out, pair), nil
}

// hex reads \uXXXX at the offset.
func (p *parser) hex(at int) (rune, bool) {
	if at+6 > len(p.src) || p.src[at] != '\\' || p.src[at+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range p.src[at+2 : at+6] {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

func invalidUTF8(at int) *Error {
	return &Error{Code: CodeInvalidUTF8, Detail: "the string at byte " + strconv.Itoa(at) + " is not UTF-8: send valid UTF-8"}
}
