// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"html/template"
	"net/http"
	"time"

	"github.com/deed-run/deed"
)

const (
	// pageSize is the length of a listing.
	pageSize = 50
	// searchUpTo bounds how many operations one page of a text search looks at.
	searchUpTo = 5000
	storePage  = 1000
)

// row is one line of a listing. It carries no arguments and no result.
type row struct {
	ID     deed.OperationID
	Tool   deed.Tool
	Actor  deed.Actor
	Status deed.Status
	// Why is the reason in words, where it says more than the status.
	Why   string
	Key   string
	About string
	Flags string
	At    time.Time
	Tries int
}

func rowOf(op *deed.Operation, now time.Time) row {
	r := row{
		ID: op.ID, Tool: op.Tool, Actor: op.Actor, Status: op.EffectiveStatus(now), Why: reasonWords(op), Key: keyOf(op),
		At: op.CreatedAt, Tries: op.AttemptNumber(),
	}
	if receipt := op.Receipt(); receipt != nil {
		r.About = receipt.RemoteID
	}
	if r.About == "" {
		r.About = matterWords(op.Matter)
	}
	switch {
	case op.Diverged:
		r.Flags = "happened twice"
	case op.Contradicted:
		r.Flags = "contradicted"
	}
	return r
}

// listing is what the ledger page shows. Problem says that there is no answer:
// never the same as an answer without rows.
type listing struct {
	Filter  filter
	Rows    []row
	Next    template.URL
	Problem string
	// Looked is how many operations a text search looked at when it stopped
	// before the end.
	Looked int
	// Newest is where live notices begin.
	Newest  deed.OperationID
	Options []string
}

// ledger shows GET /ledger.
func (v *visit) ledger() {
	f, wrong := readFilter(v.URL.Query(), v.now)
	if wrong != "" {
		v.list(http.StatusBadRequest, listing{Filter: f, Problem: "The filter is not understood: " + wrong + ". Nothing was looked up."})
		return
	}
	l, err := v.console.look(v.Context(), v.who, f, pageSize)
	if err != nil {
		why := v.failureOf(err)
		v.list(why.Status, listing{Filter: f, Problem: why.Text})
		return
	}
	v.list(http.StatusOK, l)
}

func (v *visit) list(status int, l listing) {
	for _, filter := range []deed.Filter{deed.FilterPending, deed.FilterAccepted, deed.FilterFailed, deed.FilterUncertain, deed.FilterClosed} {
		l.Options = append(l.Options, string(filter))
	}
	for _, s := range deed.Statuses() {
		l.Options = append(l.Options, string(s))
	}
	if v.partial() {
		// The address without the fields that were left empty.
		v.Header().Set("HX-Push-Url", "/ledger?"+l.Filter.Values().Encode())
		v.render(status, "ledger", "listing", l)
		return
	}
	v.show(status, "ledger", "Ledger", l)
}

// look reads one page of a listing.
func (c *Console) look(ctx context.Context, who deed.Principal, f filter, limit int) (listing, error) {
	l := listing{Filter: f}
	now := c.Clock.Now()
	query := f.query
	query.Limit = limit
	if f.Text != "" {
		query.Limit = storePage
	}
	looked := 0
	for {
		page, err := c.Runtime.List(ctx, who, query)
		if err != nil {
			return l, err
		}
		for i, op := range page.Operations {
			looked++
			if op.ID < f.since {
				return l, nil
			}
			if !f.matches(op) {
				continue
			}
			if f.Before == "" && l.Newest == "" {
				l.Newest = op.ID
			}
			l.Rows = append(l.Rows, rowOf(op, now))
			if len(l.Rows) == limit {
				if i < len(page.Operations)-1 || page.Next != "" {
					l.Next = f.At(op.ID)
				}
				return l, nil
			}
		}
		switch query.Before = page.Next; {
		case query.Before == "" || query.Before < f.since:
			return l, nil
		case looked >= searchUpTo:
			l.Next, l.Looked = f.At(query.Before), looked
			return l, nil
		}
	}
}
