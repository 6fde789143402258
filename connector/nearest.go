// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

// nearest is the name that somebody most likely meant, "" when none is close.
func nearest(written string, names []string) string {
	best, distance := "", len(written)/3+2
	for _, name := range names {
		if d := edits(written, name); d < distance {
			best, distance = name, d
		}
	}
	return best
}

// edits counts the insertions, deletions and replacements between two texts (Levenshtein).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
