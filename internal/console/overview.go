// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"net/http"
	"time"

	"github.com/deed-run/deed"
)

// countUpTo bounds what is counted for one page; the ledger keeps no counters.
const countUpTo = 2000

// overviewPage says what needs a person now.
type overviewPage struct {
	// Problem says under Head why there is no answer.
	Head      string
	Problem   string
	Uncertain count
	Approvals count
	Asked     count
	Health    string
	Checked   bool
	Decided   []decided
	Tallied   bool
	Recent    []row
	// Flagged are the newest on which evidence disagrees; MoreFlagged says that
	// there are others.
	Flagged     []row
	MoreFlagged bool
	Quiet       bool
}

// count is how many operations wait for a person, with the one that has waited
// longest.
type count struct {
	N    int
	More bool
	// Oldest is the age of the longest waiting one and OldestID its name.
	Oldest   string
	OldestID deed.OperationID
	oldestAt time.Time
	// Soonest is when the first one lapses.
	Soonest time.Time
	// Stuck is how many no look-up will settle any more.
	Stuck int
}

// overview shows GET /.
func (v *visit) overview() {
	p, err := v.console.survey(v.Context(), v.who)
	status := http.StatusOK
	if err != nil {
		why := v.failureOf(err)
		p.Head, p.Problem, status = why.Head, why.Text, why.Status
	}
	if v.partial() {
		v.render(status, "overview", "attention", p)
		return
	}
	v.show(status, "overview", "Overview", p)
}

func (c *Console) survey(ctx context.Context, who deed.Principal) (overviewPage, error) {
	var p overviewPage
	now := c.Clock.Now()
	err := c.each(ctx, who, deed.Query{Statuses: []deed.Status{deed.StatusUncertain}, Effective: now}, &p.Uncertain.More, func(op *deed.Operation) {
		if !op.Unresolved(now) {
			return
		}
		p.Uncertain.add(op, uncertainSince(op))
		if c.Runtime.NeedsPerson(op, now) {
			p.Uncertain.Stuck++
		}
	})
	if err != nil {
		return p, err
	}
	err = c.each(ctx, who, deed.Query{Statuses: []deed.Status{deed.StatusAwaitingApproval}}, &p.Approvals.More, func(op *deed.Operation) {
		if ends := lapses(op); ends.IsZero() || now.Before(ends) {
			p.Approvals.add(op, op.ProposedAt)
			if p.Approvals.Soonest.IsZero() || ends.Before(p.Approvals.Soonest) {
				p.Approvals.Soonest = ends
			}
		}
	})
	if err != nil {
		return p, err
	}
	p.Uncertain.age(now)
	p.Approvals.age(now)
	if c.Health != nil {
		p.Checked = true
		if err := c.Health(ctx); err != nil {
			p.Health = "The ledger takes no writes: everything that changes things is refused."
		}
	}
	if c.Tally != nil {
		p.Tallied, p.Decided = true, c.Tally.of(who.Tenant)
	}
	page, err := c.Runtime.List(ctx, who, deed.Query{Limit: 8})
	if err != nil {
		return p, err
	}
	for _, op := range page.Operations {
		p.Recent = append(p.Recent, rowOf(op, now))
	}
	if page, err = c.Runtime.List(ctx, who, deed.Query{Flagged: true, Limit: shownFlags}); err != nil {
		return p, err
	}
	for _, op := range page.Operations {
		p.Flagged = append(p.Flagged, rowOf(op, now))
	}
	p.MoreFlagged = page.Next != ""
	p.Quiet = p.Uncertain.N+p.Approvals.N == 0 && p.Health == ""
	return p, nil
}

// each visits operations, newest first, at most countUpTo; more is set when
// there are others.
func (c *Console) each(ctx context.Context, who deed.Principal, query deed.Query, more *bool, do func(*deed.Operation)) error {
	query.Limit = storePage
	for seen := 0; ; {
		page, err := c.Runtime.List(ctx, who, query)
		if err != nil {
			return err
		}
		for _, op := range page.Operations {
			do(op)
		}
		seen += len(page.Operations)
		if query.Before = page.Next; query.Before == "" {
			return nil
		}
		if seen >= countUpTo {
			*more = true
			return nil
		}
	}
}

func (n *count) add(op *deed.Operation, since time.Time) {
	n.N++
	if n.OldestID == "" || since.Before(n.oldestAt) {
		n.OldestID, n.oldestAt = op.ID, since
	}
}

func (n *count) age(now time.Time) {
	if n.OldestID != "" {
		n.Oldest = span(now.Sub(n.oldestAt))
	}
}

// uncertainSince is when the outcome of an operation came to be unknown.
func uncertainSince(op *deed.Operation) time.Time {
	switch op.Status {
	case deed.StatusExecuting:
		return op.LeaseExpiresAt
	case deed.StatusAwaitingInput:
		return op.InputExpiresAt
	}
	if op.SettledAt.IsZero() {
		return op.CreatedAt
	}
	return op.SettledAt
}

// shownFlags is how many flagged operations the overview shows.
const shownFlags = 5

type flagsPage struct {
	Rows []row
	// Next is where older ones begin, empty when there are none.
	Next deed.OperationID
	// Later is set where the page did not begin with the newest.
	Later   bool
	Problem string
}

// flags shows GET /flags: operations whose evidence names more than one effect
// or speaks against a decision.
func (v *visit) flags() {
	query := deed.Query{Flagged: true, Limit: pageSize, Before: deed.OperationID(v.URL.Query().Get("before"))}
	p, status := flagsPage{Later: query.Before != ""}, http.StatusOK
	page, err := v.console.Runtime.List(v.Context(), v.who, query)
	if err != nil {
		why := v.failureOf(err)
		status, p.Problem = why.Status, why.Text
	}
	for _, op := range page.Operations {
		p.Rows = append(p.Rows, rowOf(op, v.now))
	}
	p.Next = page.Next
	v.show(status, "flags", "Contradictions", p)
}
