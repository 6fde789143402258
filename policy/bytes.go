// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"unicode/utf8"
)

// How many brackets may be open, and how many lists may begin in one line.
// They bound the recursion and the time of the YAML reader. A real file needs
// six of either; brackets within texts are counted too, hence the larger number.
const (
	maxBrackets = 1000
	maxDashes   = 100
)

// unreadable finds what must not reach the YAML reader: text that is not
// UTF-8, control characters, and nesting without end.
func unreadable(data []byte) (wrong string, line, column int) {
	line, column = 1, 1
	depth, dashes := 0, 0
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return "a byte that is not UTF-8", line, column
		case r == '\n':
			line, column, dashes = line+1, 0, 0
		case r < ' ' && r != '\t' && r != '\r', r == 0x7f:
			return fmt.Sprintf("control character %#x", r), line, column
		case r == '[' || r == '{':
			depth++
		case (r == '-' || r == '?') && i+1 < len(data) && (data[i+1] == ' ' || data[i+1] == '\t'):
			dashes++
		case r == ']' || r == '}':
			depth = max(0, depth-1)
		}
		switch {
		case depth > maxBrackets:
			return fmt.Sprintf("more than %d open brackets", maxBrackets), line, column
		case dashes > maxDashes:
			return fmt.Sprintf("more than %d lists that begin in one line", maxDashes), line, column
		}
		i += size
		column++
	}
	return "", 0, 0
}
