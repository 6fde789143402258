// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"
)

// word reads one of a closed list of words.
func word[W ~string](d *decoder, at place, into *W, words ...W) {
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = string(w)
	}
	text, ok := written(at.node)
	if !ok {
		d.wrongType(at, "one of "+listed(names, "or"), "write "+listed(names, "or"))
		return
	}
	if i := slices.Index(names, text); i >= 0 {
		*into = words[i]
		return
	}
	d.unknownWord(at, text, names)
}

func (d *decoder) unknownWord(at place, text string, names []string) {
	remedy := "write " + listed(names, "or")
	if near := nearest(text, names); near != "" {
		remedy = "write " + near + " instead"
	}
	d.refuse(at, "unknown word "+text, remedy)
}

// listed joins words as prose.
func listed(words []string, conjunction string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}

// Nearest finds the name that was probably meant, as the remedies of this
// package do, or "".
func Nearest(text string, names []string) string { return nearest(text, names) }

// nearest finds the name that was probably meant, or "". A third of the
// letters may differ.
func nearest(text string, names []string) string {
	best, distance := "", max(1, len(text)/3)+1
	for _, name := range names {
		folded := strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(text))
		if n := edits(folded, name); n < distance {
			best, distance = name, n
		}
	}
	return best
}

// edits counts insertions, deletions, replacements and swaps of neighbours
// (optimal string alignment distance).
func edits(a, b string) int {
	before, last, row := []int(nil), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, make([]int, len(b)+1)
	}
	return last[len(b)]
}
