// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"unicode/utf8"
)

// maxNesting is how deep brackets may stand in one another. It bounds the
// recursion of the YAML reader; a real file needs six.
const maxNesting = 100

// unreadable finds what must not reach the YAML reader: text that is not
// UTF-8, control characters, and brackets without end.
func unreadable(data []byte) (wrong string, line, column int) {
	line, column = 1, 1
	depth := 0
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return "a byte that is not UTF-8", line, column
		case r == '\n':
			line, column = line+1, 0
		case r < ' ' && r != '\t' && r != '\r', r == 0x7f:
			return fmt.Sprintf("control character %#x", r), line, column
		case r == '[' || r == '{':
			depth++
		case r == ']' || r == '}':
			depth = max(0, depth-1)
		}
		if depth > maxNesting {
			return fmt.Sprintf("more than %d brackets within one another", maxNesting), line, column
		}
		i += size
		column++
	}
	return "", 0, 0
}
