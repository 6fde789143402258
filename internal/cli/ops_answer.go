// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// lookedUp is what a look-up came to, for people and programs.
type lookedUp struct {
	op        *deed.Operation
	verdict   string
	counted   string
	why       string
	strategy  string
	evidence  string
	remoteIDs []string
	stale     bool
}

func findingOf(f deed.Finding) lookedUp {
	out := lookedUp{
		op: f.Operation, verdict: string(f.Verdict.Kind), counted: string(f.Counted), why: f.Why, strategy: f.Verdict.Strategy,
		evidence: f.Verdict.Evidence, stale: f.Stale,
	}
	for _, match := range f.Verdict.Matches {
		out.remoteIDs = append(out.remoteIDs, match.RemoteID)
	}
	return out
}

func (f lookedUp) shown(now time.Time) map[string]any {
	return map[string]any{
		"operation": show(f.op, now), "verdict": f.verdict, "counted": f.counted, "why": f.why, "strategy": f.strategy,
		"evidence": f.evidence, "remote_ids": f.remoteIDs, "stale": f.stale,
	}
}

func (f lookedUp) lines(now time.Time) []string {
	rows := [][]string{{"verdict", f.verdict}, {"counted as", f.counted}, {"because", f.why}, {"looked up by", f.strategy}, {"read", f.evidence}, {"found", strings.Join(f.remoteIDs, ", ")}}
	if f.stale {
		rows = append(rows, []string{"kept as", "evidence: the operation had moved on meanwhile"})
	}
	kept := [][]string{{"operation", string(f.op.ID) + " is " + standing(f.op, now)}}
	for _, row := range rows {
		if row[1] != "" {
			kept = append(kept, []string{row[0], plain(row[1])})
		}
	}
	return table(kept)
}

// attempted is how an attempt that a person began ended.
type attempted struct {
	op       *deed.Operation
	decision deed.Decision
	reason   deed.Reason
	text     string
}

func (r attempted) shown(now time.Time) map[string]any {
	out := map[string]any{"decision": r.decision, "reason": r.reason, "text": r.text}
	if r.op != nil {
		out["operation"] = show(r.op, now)
	}
	return out
}

func (r attempted) lines(now time.Time, at place) []string {
	head := string(r.decision)
	if r.reason != "" {
		head += "(" + string(r.reason) + ")"
	}
	if r.decision != deed.Execute {
		head += ": nothing was sent"
	}
	if r.text != "" {
		head += ": " + plain(r.text)
	}
	lines := []string{head}
	if r.op != nil {
		lines = append(lines, decided(r.op, now, at)...)
	}
	return lines
}
