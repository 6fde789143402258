// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/outcome"
)

var (
	update = flag.Bool("update", false, "rewrite the golden files")
	silent = log.New(io.Discard, "", 0)
)

// The golden file is the table that people read: a row for every status.
func TestEveryStatusHasARow(t *testing.T) {
	var rows strings.Builder
	for status := 100; status <= 599; status++ {
		out := outcome.HTTP(status, nil)
		word := string(out.Kind)
		if out.Kind == deed.OutcomeRefused {
			word = "refused, final"
			if !out.Final {
				word = "refused, retryable"
			}
		}
		if outcome.Why(status) == "" {
			t.Errorf("%d has no reason", status)
		}
		fmt.Fprintf(&rows, "%d %s: %s\n", status, word, outcome.Why(status))
	}
	const golden = "testdata/statuses.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(rows.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), rows.String()); diff != "" {
		t.Error(diff)
	}
	for _, status := range []int{-1, 0, 99, 600, 999} {
		if out := outcome.HTTP(status, nil); out.Kind != deed.OutcomeUnknown || outcome.Why(status) != "" {
			t.Errorf("%d is no status, and was classified as %s", status, out.Kind)
		}
	}
}

func TestSMTPReplies(t *testing.T) {
	var (
		unsent   = verdict{deed.OutcomeUnsent, deed.ReasonNotSent, false}
		stages   = []outcome.Stage{outcome.StageConnect, outcome.StageGreeting, outcome.StageHello, outcome.StageTLS, outcome.StageAuth, outcome.StageMail, outcome.StageRecipient, outcome.StageData, outcome.StageDot}
		positive = map[bool]verdict{false: unsent, true: done}
		lost     = map[bool]verdict{false: unsent, true: open}
	)
	for _, stage := range stages {
		atDot := stage == outcome.StageDot
		for _, c := range []struct {
			name string
			code int
			lost bool
			want verdict
		}{
			{"transient", 451, false, retryable},
			{"the server shuts down", 421, false, retryable},
			{"permanent", 550, false, refused},
			{"syntax", 500, false, refused},
			{"positive", 250, false, positive[atDot]},
			{"lost", 0, true, lost[atDot]},
			{"lost within a reply", 250, true, lost[atDot]},
			{"intermediate", 354, false, lost[atDot]},
			{"no reply code", 0, false, lost[atDot]},
			{"a code out of range", 999, false, lost[atDot]},
		} {
			if diff := cmp.Diff(c.want, of(outcome.SMTP(stage, c.code, c.lost))); diff != "" {
				t.Errorf("%s at the %s: %s", c.name, stage, diff)
			}
		}
	}
	if out := outcome.SMTP(outcome.Stage(-1), 0, true); out.Kind != deed.OutcomeUnknown {
		t.Errorf("a stage that does not exist proves %s", out.Kind)
	}
}

func TestBatches(t *testing.T) {
	items := func(kinds ...deed.OutcomeKind) []deed.Item {
		var list []deed.Item
		for i, kind := range kinds {
			list = append(list, deed.Item{ID: fmt.Sprint(i), Outcome: kind})
		}
		return list
	}
	const yes, no, unsent, unknown = deed.OutcomeSuccess, deed.OutcomeRefused, deed.OutcomeUnsent, deed.OutcomeUnknown
	for _, c := range []struct {
		name  string
		items []deed.Item
		want  verdict
	}{
		{"all accepted", items(yes, yes), done},
		{"one unknown", items(yes, unknown, no), open},
		{"one refused", items(yes, no), done},
		{"one unsent", items(yes, unsent), done},
		{"all refused", items(no, no), refused},
		{"refused and unsent", items(no, unsent), refused},
		{"all unsent", items(unsent), verdict{deed.OutcomeUnsent, deed.ReasonNotSent, false}},
		{"a kind that nobody knows", items(yes, ""), open},
		{"none", nil, open},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := outcome.Batch(c.items, true)
			if diff := cmp.Diff(c.want, of(out)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.items, out.Receipt.Items); diff != "" {
				t.Error(diff)
			}
		})
	}
}
