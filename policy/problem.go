// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxProblems is how many problems of one file are told at once.
const maxProblems = 20

// Problem is one thing that is wrong with a configuration file.
type Problem struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// Key is the path of keys that leads to the place, such as
	// "tools.tickets/create.effect"; empty for the file itself.
	Key string `json:"key,omitempty"`
	// Wrong says what is wrong, Remedy what to do about it.
	Wrong  string `json:"wrong"`
	Remedy string `json:"remedy,omitempty"`
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

// Error lists the problems of a file in the order of their lines. Nothing of
// the file is in force.
type Error struct {
	// Problems holds the first twenty, More counts the others.
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

// problemsOf orders problems by their place and keeps the first twenty.
func problemsOf(found []Problem) *Error {
	slices.SortStableFunc(found, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	kept := found[:min(len(found), maxProblems)]
	return &Error{Problems: kept, More: len(found) - len(kept)}
}
