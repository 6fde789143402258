// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"fmt"

	"github.com/deed-run/deed"
)

// Heuristic lists objects that look like the effect: same recipient, same
// amount, about the same time. Two wanted actions may look alike, so it proves
// nothing, neither way: what it finds is put before a person, and keeps an
// absence from counting.
type Heuristic struct {
	From     Fetcher
	MaxPages int
}

// Name is "look-alike".
func (Heuristic) Name() string { return "look-alike" }

// Probe implements [Strategy].
func (s Heuristic) Probe(ctx context.Context, q deed.Inquest) (deed.Verdict, error) {
	var alike []deed.Match
	pages := s.MaxPages
	if pages <= 0 {
		pages = defaultPages
	}
	cursor := ""
	for range pages {
		items, next, err := s.From.Fetch(ctx, q, cursor)
		if err != nil {
			return deed.Verdict{}, err
		}
		for _, item := range items {
			if len(alike) < maxSuspects {
				item.Token = ""
				alike = append(alike, item)
			}
		}
		if next == "" || next == cursor || len(alike) == maxSuspects {
			break
		}
		cursor = next
	}
	return deed.Verdict{
		Kind: deed.VerdictUndetermined, Matches: alike,
		Evidence: fmt.Sprintf("%d look like it; a likeness proves nothing", len(alike)),
	}, nil
}

// Logger reads a log of the last hop, which is our own: every effect is in it.
type Logger interface {
	// Entries returns what the log says was sent with one of q's marks, and
	// whether it covers everything since q.SentAt: not rotated away, and
	// written through.
	Entries(ctx context.Context, q deed.Inquest) (entries []deed.Match, covers bool, err error)
}

// LoggerFunc is a Logger.
type LoggerFunc func(ctx context.Context, q deed.Inquest) ([]deed.Match, bool, error)

// Entries calls f.
func (f LoggerFunc) Entries(ctx context.Context, q deed.Inquest) ([]deed.Match, bool, error) {
	return f(ctx, q)
}

// LocalLog looks into the authoritative log of a hop that is our own, such as
// the mail server that mail is handed to.
type LocalLog struct{ From Logger }

// Name is "local-log".
func (LocalLog) Name() string { return "local-log" }

// Probe implements [Strategy].
func (s LocalLog) Probe(ctx context.Context, q deed.Inquest) (deed.Verdict, error) {
	entries, covers, err := s.From.Entries(ctx, q)
	if err != nil {
		return deed.Verdict{}, err
	}
	r := reading{pages: 1, complete: covers, why: "the log does not reach back to when it was sent"}
	for _, entry := range entries {
		if carries(q, entry.Token) {
			r.own = append(r.own, entry)
		} else {
			r.others++
		}
	}
	v := r.verdict()
	if !covers && len(r.own) == 1 {
		// One entry is an entry, however far back the log reaches; that there
		// was none before it is what the mark is for.
		v.Kind, v.Complete = deed.VerdictFound, true
	}
	return v, nil
}

// Human is the last rung: nothing can be asked, a person must decide.
type Human struct {
	// Ask tells the person where to look.
	Ask string
}

// Name is "person".
func (Human) Name() string { return "person" }

// Probe implements [Strategy]: it never determines anything.
func (h Human) Probe(context.Context, deed.Inquest) (deed.Verdict, error) {
	return undetermined("a person must decide; %s", h.Ask)
}
