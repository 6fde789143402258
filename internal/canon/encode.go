// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon

// appendNode writes the canonical form (RFC 8785 section 3.2) of a tree.
func appendNode(dst []byte, n *node, mode numberMode) ([]byte, *Error) {
	switch n.kind {
	case kindNull:
		return append(dst, "null"...), nil
	case kindTrue:
		return append(dst, "true"...), nil
	case kindFalse:
		return append(dst, "false"...), nil
	case kindString:
		return appendText(dst, n.text), nil
	case kindNumber:
		if n.exact {
			mode = numbersExact
		}
		return appendNumber(dst, n.text, mode)
	default:
		return appendContainer(dst, n, mode)
	}
}

func appendContainer(dst []byte, n *node, mode numberMode) ([]byte, *Error) {
	opening, closing := byte('['), byte(']')
	if n.kind == kindObject {
		opening, closing = '{', '}'
	}
	dst = append(dst, opening)
	for i := range n.kids {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.kind == kindObject {
			dst = append(appendText(dst, n.kids[i].name), ':')
		}
		var e *Error
		if dst, e = appendNode(dst, &n.kids[i].value, mode); e != nil {
			return nil, e.under(n.kind, n.kids[i].name, i)
		}
	}
	return append(dst, closing), nil
}

// appendText writes a string with the escapes of RFC 8785 section 3.2.2.2.
func appendText(dst, text []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i, c := range text {
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, text[from:]...)
	return append(dst, '"')
}
