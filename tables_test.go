// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
)

// section returns the rows of the first table below a heading of
// docs/tables.md, cells trimmed, without header and rule.
func section(t *testing.T, heading string) [][]string {
	t.Helper()
	doc, err := os.ReadFile("docs/tables.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(doc), "\n"+heading)
	if !found {
		t.Fatalf("docs/tables.md has no heading %q", heading)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	if strings.HasPrefix(heading, "|") {
		rest = heading + rest
	}
	var rows [][]string
	for _, line := range strings.Split(rest, "\n") {
		if !strings.HasPrefix(line, "|") {
			if len(rows) > 0 {
				break
			}
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	if len(rows) < 3 {
		t.Fatalf("docs/tables.md: no table under %q", heading)
	}
	return rows[2:]
}

var spaceBeforeNote = regexp.MustCompile(`^(AA|AU|EX|AI|CO|FR|FF|UN|AB|DE|CA|XP|=)([a-z])$`)

// bare strips the marks ° and † and puts a space before a note's letter.
func bare(cell string) string {
	cell = strings.NewReplacer("°", "", "†", "").Replace(cell)
	return spaceBeforeNote.ReplaceAllString(cell, "$1 $2")
}

func TestTransitionTableIsTheDocumentedOne(t *testing.T) {
	rows := section(t, "## 2. Transitions")
	table := deed.Transitions()
	if len(rows) != len(table) {
		t.Fatalf("documented rows: %d, rows in code: %d", len(rows), len(table))
	}
	for i, row := range rows {
		want := make([]string, 0, 13)
		for _, cell := range row[2:] {
			want = append(want, bare(cell))
		}
		got := make([]string, 0, 13)
		for _, cell := range table[i].Cells {
			got = append(got, string(cell))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("row %s %s (%s):\n%s", row[0], row[1], table[i].Event, diff)
		}
	}
}

func TestTransitionTableHeadingsAreTheStates(t *testing.T) {
	doc, err := os.ReadFile("docs/tables.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range deed.States() {
		names = append(names, string(s))
	}
	want := "| # | event | " + strings.Join(names, " | ") + " |"
	if !strings.Contains(string(doc), want) {
		t.Errorf("docs/tables.md has no header %q", want)
	}
}

var word = regexp.MustCompile("`([a-z_]+)`")

func TestReasonTableIsTheDocumentedOne(t *testing.T) {
	rows := section(t, "## 6. Reasons")
	table := deed.ReasonTable()
	if len(rows) != len(table) {
		t.Fatalf("documented rows: %d, rows in code: %d", len(rows), len(table))
	}
	decision := ""
	for i, row := range rows {
		if m := word.FindStringSubmatch(row[0]); m != nil {
			decision = m[1]
		}
		if decision != string(table[i].Decision) {
			t.Errorf("row %d: documented %s, code %s", i+1, decision, table[i].Decision)
		}
		var want, got []string
		for _, m := range word.FindAllStringSubmatch(row[1], -1) {
			want = append(want, m[1])
		}
		for _, r := range table[i].Reasons {
			got = append(got, string(r))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("reasons of row %d (%s):\n%s", i+1, decision, diff)
		}
		code := regexp.MustCompile(`\b\d{3}\b`).FindString(row[2])
		if got := table[i].HTTP; got != 0 && decision != "execute" && code != strconv.Itoa(got) {
			t.Errorf("HTTP code of row %d (%s): documented %q, code %d", i+1, decision, row[2], got)
		}
		if strings.Contains(row[2], "Retry-After") != table[i].RetryAfter {
			t.Errorf("Retry-After of row %d (%s): documented %q, code %v", i+1, decision, row[2], table[i].RetryAfter)
		}
	}
}
