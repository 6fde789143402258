// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package rawjson

func skipSpace(doc []byte, i int) int {
	for i < len(doc) {
		switch doc[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

func skipString(doc []byte, i int) (int, error) {
	if i >= len(doc) || doc[i] != '"' {
		return 0, syntax(doc, i, "a string is missing")
	}
	for i++; i < len(doc); i++ {
		switch c := doc[i]; {
		case c == '"':
			return i + 1, nil
		case c < 0x20:
			return 0, syntax(doc, i, "a control character stands in a string")
		case c == '\\':
			end, err := skipEscape(doc, i)
			if err != nil {
				return 0, err
			}
			i = end
		}
	}
	return 0, syntax(doc, i, "a string does not end")
}

// skipEscape returns the index of the escape's last byte.
func skipEscape(doc []byte, i int) (int, error) {
	if i+1 >= len(doc) {
		return 0, syntax(doc, i, "an escape does not end")
	}
	switch doc[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1, nil
	case 'u':
		if i+5 >= len(doc) {
			return 0, syntax(doc, i, "an escape does not end")
		}
		for _, c := range doc[i+2 : i+6] {
			if !isHex(c) {
				return 0, syntax(doc, i, "an escape is malformed")
			}
		}
		return i + 5, nil
	}
	return 0, syntax(doc, i, "an escape is unknown")
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func skipValue(doc []byte, i, depth int) (int, error) {
	if i >= len(doc) {
		return 0, syntax(doc, i, "a value is missing")
	}
	if depth > maxDepth {
		return 0, syntax(doc, i, "the nesting is too deep")
	}
	switch c := doc[i]; {
	case c == '"':
		return skipString(doc, i)
	case c == '{':
		return skipNested(doc, i, depth, '}')
	case c == '[':
		return skipNested(doc, i, depth, ']')
	case c == '-' || c >= '0' && c <= '9':
		return skipNumber(doc, i)
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if len(doc)-i >= len(word) && string(doc[i:i+len(word)]) == word {
			return i + len(word), nil
		}
	}
	return 0, syntax(doc, i, "no value starts like this")
}

func skipNested(doc []byte, i, depth int, closing byte) (int, error) {
	i = skipSpace(doc, i+1)
	for first := true; ; first = false {
		if i < len(doc) && doc[i] == closing && first {
			return i + 1, nil
		}
		if closing == '}' {
			end, err := skipString(doc, i)
			if err != nil {
				return 0, err
			}
			i = skipSpace(doc, end)
			if i >= len(doc) || doc[i] != ':' {
				return 0, syntax(doc, i, "a colon is missing")
			}
			i = skipSpace(doc, i+1)
		}
		end, err := skipValue(doc, i, depth+1)
		if err != nil {
			return 0, err
		}
		i = skipSpace(doc, end)
		if i >= len(doc) {
			return 0, syntax(doc, i, "the document ends early")
		}
		if doc[i] == closing {
			return i + 1, nil
		}
		if doc[i] != ',' {
			return 0, syntax(doc, i, "a comma is missing")
		}
		i = skipSpace(doc, i+1)
	}
}

// skipNumber follows the grammar of RFC 8259 section 6.
func skipNumber(doc []byte, i int) (int, error) {
	start := i
	if doc[i] == '-' {
		i++
	}
	whole := digits(doc, i)
	if whole == i || whole > i+1 && doc[i] == '0' {
		return 0, syntax(doc, start, "a number is malformed")
	}
	i = whole
	if i < len(doc) && doc[i] == '.' {
		end := digits(doc, i+1)
		if end == i+1 {
			return 0, syntax(doc, start, "a number is malformed")
		}
		i = end
	}
	if i < len(doc) && (doc[i] == 'e' || doc[i] == 'E') {
		i++
		if i < len(doc) && (doc[i] == '+' || doc[i] == '-') {
			i++
		}
		end := digits(doc, i)
		if end == i {
			return 0, syntax(doc, start, "a number is malformed")
		}
		i = end
	}
	return i, nil
}

func digits(doc []byte, i int) int {
	for i < len(doc) && doc[i] >= '0' && doc[i] <= '9' {
		i++
	}
	return i
}
