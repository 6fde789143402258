// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// diffLine is one line of a comparison: ' ' in both, '-' only old, '+' only new.
type diffLine struct {
	mark byte
	text string
}

const diffContext = 3

// unified compares two texts in the unified format.
func unified(name string, before, after []byte) string {
	if string(before) == string(after) {
		return ""
	}
	lines := compare(splitLines(string(before)), splitLines(string(after)))
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", name, name)
	for from := 0; from < len(lines); {
		if lines[from].mark == ' ' {
			from++
			continue
		}
		start, end := max(0, from-diffContext), from
		for quiet := 0; end < len(lines) && quiet <= 2*diffContext; end++ {
			quiet++
			if lines[end].mark != ' ' {
				quiet = 0
			}
		}
		for end > from && lines[end-1].mark == ' ' {
			end--
		}
		from = end
		writeHunk(&out, lines, start, min(len(lines), end+diffContext))
	}
	return out.String()
}

func writeHunk(out *strings.Builder, lines []diffLine, start, end int) {
	position := func(mark byte) (first, count int) {
		for i, l := range lines[:end] {
			if l.mark != ' ' && l.mark != mark {
				continue
			}
			if i < start {
				first++
			} else {
				count++
			}
		}
		if count > 0 {
			first++
		}
		return first, count
	}
	oldFirst, oldCount := position('-')
	newFirst, newCount := position('+')
	fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n", oldFirst, oldCount, newFirst, newCount)
	for _, l := range lines[start:end] {
		out.WriteByte(l.mark)
		out.WriteString(l.text)
		if !strings.HasSuffix(l.text, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// compare finds a shortest edit script (E. Myers, "An O(ND) Difference Algorithm
// and Its Variations", 1986), fast where few lines differ.
func compare(a, b []string) []diffLine {
	reach := map[int]int{1: 0} // furthest x on each diagonal k = x - y
	var rounds []map[int]int   // reach before each round
	for d := 0; ; d++ {
		rounds = append(rounds, maps.Clone(reach))
		for k := -d; k <= d; k += 2 {
			x := reach[k+1]
			if k != -d && (k == d || reach[k-1] >= reach[k+1]) {
				x = reach[k-1] + 1
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			reach[k] = x
			if k == len(a)-len(b) && x >= len(a) {
				return script(a, b, rounds)
			}
		}
	}
}

// script walks the rounds back from the end of both texts.
func script(a, b []string, rounds []map[int]int) []diffLine {
	var lines []diffLine
	x, y := len(a), len(b)
	for d := len(rounds) - 1; d >= 0; d-- {
		reach, k := rounds[d], x-y
		from := k - 1
		if k == -d || k != d && reach[k-1] < reach[k+1] {
			from = k + 1
		}
		prevX := reach[from]
		prevY := prevX - from
		for x > max(prevX, 0) && y > max(prevY, 0) {
			x, y = x-1, y-1
			lines = append(lines, diffLine{' ', a[x]})
		}
		switch {
		case d == 0:
		case x > prevX:
			x--
			lines = append(lines, diffLine{'-', a[x]})
		default:
			y--
			lines = append(lines, diffLine{'+', b[y]})
		}
	}
	slices.Reverse(lines)
	return lines
}
