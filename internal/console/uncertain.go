// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"slices"
	"time"

	"github.com/deed-run/deed"
)

// doubt is one uncertain operation with what is known of it without loading
// more than the listing.
type doubt struct {
	row
	Since   time.Time
	Age     string
	Message string
	Tries   []deed.Attempt
	Probing *deed.Probing
	// Stuck: no look-up will settle it.
	Stuck bool
	// Quiet: the tool itself said that it failed; nobody is woken for it.
	Quiet     bool
	Abandoned bool
}

type uncertainPage struct {
	Doubts  []doubt
	More    bool
	Closed  int
	All     bool
	Problem string
	Total   int
}

// shownDoubts is the length of the queue that a page shows.
const shownDoubts = 100

// uncertain shows GET /uncertain: oldest first, those that a person must
// decide before those that a look-up may still settle.
func (v *visit) uncertain() {
	p := uncertainPage{All: v.URL.Query().Get("all") == "yes"}
	query := deed.Query{Statuses: []deed.Status{deed.StatusUncertain}, Effective: v.now}
	err := v.console.each(v.Context(), v.who, query, &p.More, func(op *deed.Operation) {
		if !op.Unresolved(v.now) {
			p.Closed++
			if !p.All {
				return
			}
		}
		d := doubt{
			row: rowOf(op, v.now), Since: uncertainSince(op), Message: op.Message, Tries: op.Attempts, Stuck: v.console.Runtime.NeedsPerson(op, v.now),
			Quiet: op.Reason == deed.ReasonToolError, Abandoned: !op.Unresolved(v.now),
		}
		if current := op.Current(); current != nil {
			d.Probing = current.Probing
		}
		d.Age = span(v.now.Sub(d.Since))
		p.Doubts = append(p.Doubts, d)
	})
	status := http.StatusOK
	if err != nil {
		why := v.failureOf(err)
		status, p.Problem = why.Status, why.Text
	}
	rank := func(d doubt) int {
		switch {
		case d.Abandoned:
			return 3
		case d.Stuck && !d.Quiet:
			return 0
		case d.Quiet:
			return 2
		}
		return 1
	}
	slices.SortStableFunc(p.Doubts, func(a, b doubt) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return a.Since.Compare(b.Since)
	})
	if p.Total = len(p.Doubts); p.Total > shownDoubts {
		p.Doubts = p.Doubts[:shownDoubts]
	}
	v.show(status, "uncertain", "Uncertain", p)
}
