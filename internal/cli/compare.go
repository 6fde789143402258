// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"strings"
)

// unchangedShown is how many equal lines stay around a difference.
const unchangedShown = 3

// compareJSON shows two JSON texts as lines: "-" only in the first, "+" only in
// the second. Order and spacing make no difference.
func compareJSON(before, after json.RawMessage) []string {
	return nearChanges(compareLines(prettyLines(before), prettyLines(after)))
}

// nearChanges leaves out equal lines that stand far from a difference.
func nearChanges(lines []string) []string {
	var shown []string
	for i, line := range lines {
		near := false
		for j := max(0, i-unchangedShown); j < min(len(lines), i+unchangedShown+1); j++ {
			near = near || lines[j][0] != ' '
		}
		switch {
		case near:
			shown = append(shown, plain(line))
		case len(shown) == 0 || shown[len(shown)-1] != "  ...":
			shown = append(shown, "  ...")
		}
	}
	return shown
}

func prettyLines(raw json.RawMessage) []string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return strings.Split(string(raw), "\n")
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if encoder.Encode(value) != nil {
		return strings.Split(string(raw), "\n")
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// comparable bounds the table of compareLines; longer texts are shown whole.
const comparable = 4 << 20

// compareLines marks the lines of a longest common subsequence with a space.
func compareLines(a, b []string) []string {
	var lines []string
	if len(a)*len(b) > comparable {
		for _, line := range a {
			lines = append(lines, "- "+line)
		}
		for _, line := range b {
			lines = append(lines, "+ "+line)
		}
		return lines
	}
	// common[i][j] is how many lines a[i:] and b[j:] share.
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, "  "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, "- "+a[i])
			i++
		default:
			lines = append(lines, "+ "+b[j])
			j++
		}
	}
	return lines
}
