// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// lookUp is what the history holds of one look-up at the provider.
type lookUp struct {
	Strategy string           `json:"strategy"`
	Verdict  deed.VerdictKind `json:"verdict"`
	Counted  deed.VerdictKind `json:"counted"`
	Why      string           `json:"why"`
	Stale    bool             `json:"stale"`
	Evidence string           `json:"evidence"`
	NextAt   time.Time        `json:"next_at"`
	Matches  []struct {
		RemoteID string `json:"remote_id"`
		URL      string `json:"url"`
		Own      bool   `json:"own"`
	} `json:"matches"`
}

// lookUpOf reads an event that a look-up recorded.
func lookUpOf(e deed.Event) (lookUp, bool) {
	var l lookUp
	if err := json.Unmarshal(e.Data, &l); err != nil || l.Verdict == "" {
		return lookUp{}, false
	}
	return l, true
}

func (l lookUp) found() string {
	parts := make([]string, 0, len(l.Matches))
	for _, m := range l.Matches {
		text := m.RemoteID
		if text == "" {
			text = m.URL
		}
		if !m.Own {
			text += " (without our mark)"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// evidenceShown is how much of what a look-up read stands on the screen unless
// all is asked for.
const evidenceShown = 160

// lookUpLines show what was asked at the provider, what it answered, and what
// that amounted to.
func lookUpLines(op *deed.Operation, events []deed.Event, now time.Time, full bool, width int) []string {
	rows := [][]string{{"AT", "ATTEMPT", "LOOKED UP BY", "ANSWER", "COUNTED AS", "FOUND"}}
	var below [][]string
	for _, e := range events {
		l, is := lookUpOf(e)
		if !is {
			continue
		}
		rows = append(rows, []string{when(e.At, now), fmt.Sprint(e.Attempt), orDash(l.Strategy), string(l.Verdict), string(l.Counted), orDash(l.found())})
		var notes []string
		if l.Why != "" {
			notes = append(notes, "because "+plain(l.Why))
		}
		if l.Stale {
			notes = append(notes, "kept as evidence only: the operation had moved on meanwhile")
		}
		if text := plain(l.Evidence); text != "" {
			if letters := []rune(text); !full && len(letters) > evidenceShown {
				text = string(letters[:evidenceShown]) + "... (--arguments shows all)"
			}
			notes = append(notes, "read: "+text)
		}
		below = append(below, notes)
	}
	if len(rows) < 2 {
		return nil
	}
	rows, _ = fitted(rows, width-2, fit{"FOUND", 16}, fit{"LOOKED UP BY", 12})
	aligned := table(rows)
	lines := []string{"", "look-ups", "  " + aligned[0]}
	for i, row := range aligned[1:] {
		lines = append(lines, "  "+row)
		for _, note := range below[i] {
			lines = append(lines, "      "+note)
		}
	}
	if text := whatComesNext(op, now); text != "" {
		lines = append(lines, "  "+text)
	}
	return lines
}

// whatComesNext says whether anybody looks again.
func whatComesNext(op *deed.Operation, now time.Time) string {
	current := op.Current()
	if current == nil || current.Probing == nil || !op.Unresolved(now) {
		return ""
	}
	switch p := current.Probing; {
	case !p.GaveUpAt.IsZero():
		return "given up " + when(p.GaveUpAt, now) + ": nobody looks again unless asked; a person decides"
	case !p.NextAt.IsZero() && !now.Before(p.NextAt):
		return "the next look-up is due: a running gateway makes it"
	case !p.NextAt.IsZero():
		return "a running gateway looks again " + when(p.NextAt, now)
	}
	return ""
}

// historyLines are the events, also those of look-ups, in one line each.
func historyLines(events []deed.Event, now time.Time, width int) []string {
	rows := [][]string{{"AT", "EVENT", "FROM", "TO", "REASON", "ACTOR", "NOTE"}}
	for _, e := range events {
		row := []string{when(e.At, now), string(e.Name), string(e.From), string(e.To), string(e.Reason), string(e.Actor), ""}
		for i := range row[:len(row)-1] {
			row[i] = orDash(row[i])
		}
		row[len(row)-1] = eventNote(e)
		rows = append(rows, row)
	}
	return sectionIn(width, "history", rows, fit{"ACTOR", 12}, fit{"FROM", 0}, fit{"NOTE", 16}, fit{"REASON", 14}, fit{"ACTOR", 0})
}

func eventNote(e deed.Event) string {
	if l, is := lookUpOf(e); is {
		return "look-up: " + string(l.Verdict)
	}
	var data struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(e.Data, &data)
	return data.Message
}
