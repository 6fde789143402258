// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a description.
type Problem struct {
	File   string
	Line   int
	Column int
	// Key is the path of keys that leads to the place.
	Key string
	// Wrong says what is wrong, Remedy what to write instead.
	Wrong  string
	Remedy string
}

// String gives "file:line:column: key: what is wrong; what to write instead".
func (p Problem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: ", p.File, p.Line, p.Column)
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Wrong)
	if p.Remedy != "" {
		b.WriteString("; " + p.Remedy)
	}
	return b.String()
}

const maxProblems = 20

// Error lists what is wrong with a description, in the order of the lines, at most twenty of them. Nothing of it is in force.
type Error struct {
	Problems []Problem
	More     int
}

// Error gives one line per problem.
func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	return strings.Join(lines, "\n")
}

func problemsOf(found []Problem) *Error {
	slices.SortStableFunc(found, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	kept := found[:min(len(found), maxProblems)]
	return &Error{Problems: kept, More: len(found) - len(kept)}
}
