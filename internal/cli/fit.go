// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// width is how many columns the terminal on stdout has, 0 where stdout is none:
// scripts and files get every column whole.
func (a *app) width() int {
	f, ok := a.Stdout.(*os.File)
	if !ok {
		return 0
	}
	columns, err := terminalColumns(f)
	if err != nil {
		return 0
	}
	return columns
}

// fit is a step on which a table becomes narrower: a column is shortened, to no
// fewer letters than least, or, where least is 0, left out.
type fit struct {
	column string
	least  int
}

// gap is what stands between two columns.
const gap = 2

// fitted makes a table as narrow as width, 0 for any: first moments lose their date
// and keep their age, then come the steps, in their order, as many as are needed. It
// returns the headings that were left out.
func fitted(rows [][]string, width int, order ...fit) (narrow [][]string, left []string) {
	if width <= 0 || len(rows) == 0 || tableWidth(rows) <= width {
		return rows, nil
	}
	for taken := 0; taken <= len(order); taken++ {
		narrow, left = narrowed(rows, width, order[:taken])
		if tableWidth(narrow) <= width {
			break
		}
	}
	return narrow, left
}

// narrowed leaves out what the steps leave out, and shortens no more than what
// stays then needs.
func narrowed(rows [][]string, width int, steps []fit) (narrow [][]string, left []string) {
	for _, step := range steps {
		if step.least == 0 && slices.Contains(rows[0], step.column) {
			left = append(left, step.column)
		}
	}
	for _, row := range rows {
		var kept []string
		for i, cell := range row {
			if !slices.Contains(left, rows[0][i]) {
				kept = append(kept, dateless(cell))
			}
		}
		narrow = append(narrow, kept)
	}
	for _, step := range steps {
		at := slices.Index(narrow[0], step.column)
		over := tableWidth(narrow) - width
		if at < 0 || step.least == 0 || over <= 0 {
			continue
		}
		most := max(step.least, columnWidths(narrow)[at]-over)
		for _, row := range narrow {
			row[at] = cut(row[at], most)
		}
	}
	return narrow, left
}

// dated is a moment as when shows it.
var dated = regexp.MustCompile(`^(just now|in [0-9a-z]+|[0-9a-z]+ ago) \(\d{4}-\d\d-\d\dT[0-9:]+Z\)$`)

// dateless is a cell that holds a moment without its date.
func dateless(cell string) string {
	if parts := dated.FindStringSubmatch(cell); parts != nil {
		return parts[1]
	}
	return cell
}

// cut shortens a text to so many letters, of which the last says that it was cut.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:max(0, most-1)]) + "…"
}

// without leaves one column out.
func without(rows [][]string, heading string) [][]string {
	at := slices.Index(rows[0], heading)
	if at < 0 {
		return rows
	}
	var kept [][]string
	for _, row := range rows {
		kept = append(kept, slices.Delete(slices.Clone(row), at, at+1))
	}
	return kept
}

func columnWidths(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i >= len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(plain(cell)))
		}
	}
	return widths
}

func tableWidth(rows [][]string) int {
	widths := columnWidths(rows)
	all := gap * (len(widths) - 1)
	for _, w := range widths {
		all += w
	}
	return all
}

// folded breaks a line at its spaces, where it is wider than width, 0 for any; what
// follows is indented. A word stays whole.
func folded(line string, width, indent int) []string {
	if width <= indent {
		return []string{line}
	}
	var lines []string
	for rest := []rune(line); ; {
		at := breakAt(rest, width, indent*min(1, len(lines)))
		if at < 0 {
			return append(lines, string(rest))
		}
		lines = append(lines, string(rest[:at]))
		rest = append([]rune(strings.Repeat(" ", indent)), rest[at+1:]...)
	}
}

// breakAt is the last space at which a line may be broken so that it fits, else the
// first, or -1. What sets columns apart is no place.
func breakAt(line []rune, width, indent int) int {
	at := -1
	for i := indent; i < len(line); i++ {
		if len(line) <= width || i > width && at >= 0 {
			break
		}
		if line[i] == ' ' && i > 0 && line[i-1] != ' ' && i+1 < len(line) && line[i+1] != ' ' {
			at = i
		}
	}
	return at
}

// foldedLines breaks what is wider than width at spaces. Commands and JSON stay
// whole: they are there to be copied.
func foldedLines(lines []string, width int) []string {
	var list []string
	for _, line := range lines {
		text := strings.TrimLeft(line, " ")
		if text == "" || strings.ContainsAny(text[:1], "{[") || strings.HasPrefix(text, "deed ") {
			list = append(list, line)
			continue
		}
		list = append(list, folded(line, width, len(line)-len(text)+4)...)
	}
	return list
}
