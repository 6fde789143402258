// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Verdict is the judgement of one scenario.
type Verdict string

// The verdicts.
const (
	// Pass: every decision and every count is as promised.
	Pass Verdict = "pass"
	// Duplicated: something took effect more often than it was allowed to.
	Duplicated Verdict = "DUPLICATE"
	// Wrong: no duplicate, but another promise was broken.
	Wrong Verdict = "WRONG"
	// Broken: the scenario could not be played to its end.
	Broken Verdict = "BROKEN"
)

// Unknown stands for a count that nobody could take.
const Unknown = -1

// Row is one played scenario.
type Row struct {
	Scenario string `json:"scenario"`
	// Asks is the question that the scenario answers.
	Asks      string   `json:"asks"`
	Decisions []string `json:"decisions"`
	// Requests is how many calls the provider received, Effects how many took
	// effect there; Unknown where it cannot be counted.
	Requests int     `json:"requests"`
	Effects  int     `json:"effects"`
	Verdict  Verdict `json:"verdict"`
	// Problems says what was expected and what was seen.
	Problems []string `json:"problems,omitempty"`
}

// Report is the result of a run.
type Report struct {
	Door Door  `json:"door"`
	Rows []Row `json:"rows"`
}

// Passed says whether every scenario passed. An empty report has not.
func (r Report) Passed() bool {
	for _, row := range r.Rows {
		if row.Verdict != Pass {
			return false
		}
	}
	return len(r.Rows) > 0
}

// Duplicated says whether any effect happened more often than allowed.
func (r Report) Duplicated() bool {
	for _, row := range r.Rows {
		if row.Verdict == Duplicated {
			return true
		}
	}
	return false
}

// WriteTable prints the report for people.
func (r Report) WriteTable(w io.Writer) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "SCENARIO\tDECISIONS\tREQUESTS\tEFFECTS\tVERDICT")
	for _, row := range r.Rows {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n",
			row.Scenario, sequence(row.Decisions), count(row.Requests), count(row.Effects), row.Verdict)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	for _, row := range r.Rows {
		for _, problem := range row.Problems {
			fmt.Fprintf(&text, "%s: %s\n", row.Scenario, problem)
		}
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return nil
}

func count(n int) string {
	if n == Unknown {
		return "?"
	}
	return fmt.Sprint(n)
}
