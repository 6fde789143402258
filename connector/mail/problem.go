// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with the configuration of an account.
type Problem struct {
	File         string
	Line, Column int
	// Key is the path of keys that leads to the place, such as "smtp.port".
	Key string
	// Wrong says what is wrong, Remedy what to do about it.
	Wrong, Remedy string
}

// String gives "file:line:column: key: what is wrong; what to write instead".
func (p Problem) String() string {
	text := fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Column)
	if p.Key != "" {
		text += p.Key + ": "
	}
	text += p.Wrong
	if p.Remedy != "" {
		text += "; " + p.Remedy
	}
	return text
}

// Error lists everything that is wrong with the configuration of an account, in the order of the file. Nothing of it is in force.
type Error struct{ Problems []Problem }

// Error gives one line per problem.
func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}
