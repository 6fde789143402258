// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// shownApprovals is the length of the inbox that a page shows.
const shownApprovals = 50

// proposal is one line of the inbox. It loads no payload.
type proposal struct {
	row
	Risk Risk
	// Because says why the risk is what it is.
	Because string
	Asked   time.Time
	By      deed.Actor
	Ends    time.Time
	Left    string
	Soon    bool
	// Have of Need consents are there.
	Have, Need int
	Digest     deed.Digest
	// Own: the visitor asked for it and may not approve it.
	Own bool
	// Bulk: it may be approved together with others.
	Bulk bool
}

func (v *visit) proposalOf(op *deed.Operation) proposal {
	p := proposal{row: rowOf(op, v.now), Asked: op.ProposedAt, By: op.Actor, Ends: lapses(op), Need: 1}
	p.Risk, p.Because = v.console.risk(op)
	if a := op.Approval; a != nil {
		p.Digest, p.Have, p.Need = a.Digest, len(a.Votes), max(1, a.Quorum)
		if a.AskedBy != "" {
			p.By = a.AskedBy
		}
		p.Own = deed.SamePerson(op.Actor, v.who.Actor) && !a.Self
	}
	if !p.Ends.IsZero() {
		p.Left = span(p.Ends.Sub(v.now))
		p.Soon = p.Ends.Sub(v.now) < time.Hour
	}
	p.Bulk = p.Risk == RiskLow && !p.Own && v.who.May(deed.RightApprove)
	return p
}

// lapses is when a proposal can no longer be approved.
func lapses(op *deed.Operation) time.Time {
	if a := op.Approval; a != nil && !a.ExpiresAt.IsZero() && (op.DispatchBy.IsZero() || a.ExpiresAt.Before(op.DispatchBy)) {
		return a.ExpiresAt
	}
	return op.DispatchBy
}

type approvalsPage struct {
	Proposals []proposal
	More      bool
	Total     int
	Shown     string
	Bulk      bool
	Decides   bool
	Problem   string
}

// approvals shows GET /approvals: those that lapse soonest first.
func (v *visit) approvals() {
	p := approvalsPage{Decides: v.who.May(deed.RightApprove)}
	query := deed.Query{Statuses: []deed.Status{deed.StatusAwaitingApproval}}
	err := v.console.each(v.Context(), v.who, query, &p.More, func(op *deed.Operation) {
		if ends := lapses(op); !ends.IsZero() && !v.now.Before(ends) {
			return
		}
		p.Proposals = append(p.Proposals, v.proposalOf(op))
	})
	status := http.StatusOK
	if err != nil {
		why := v.failureOf(err)
		status, p.Problem = why.Status, why.Text
	}
	slices.SortStableFunc(p.Proposals, func(a, b proposal) int { return a.Ends.Compare(b.Ends) })
	if p.Total = len(p.Proposals); p.Total > shownApprovals {
		p.Proposals = p.Proposals[:shownApprovals]
	}
	var ids []string
	for _, one := range p.Proposals {
		ids = append(ids, string(one.ID))
		p.Bulk = p.Bulk || one.Bulk
	}
	p.Shown = strings.Join(ids, ",")
	v.show(status, "approvals", "Approvals", p)
}

// decidedWords says what became of a proposal that others decided.
func decidedWords(op *deed.Operation) string {
	who := op.DecidedBy
	if who == "" && op.Approval != nil {
		who = strings.Join(op.Approval.Approvers, ", ")
	}
	words := "now " + statusWords(op.Status)
	switch op.Status {
	case deed.StatusDenied:
		words = "denied"
	case deed.StatusExpired:
		return "its time to be decided passed"
	case deed.StatusAuthorized, deed.StatusExecuting, deed.StatusCommitted, deed.StatusUncertain, deed.StatusFailed:
		words = "approved; it is " + statusWords(op.Status)
	case deed.StatusCancelled:
		words = "cancelled"
		if op.Reason == deed.ReasonSuperseded {
			words = "edited and approved"
		}
	}
	if who != "" {
		words += ", by " + who
	}
	return words
}

// approvalPanel is what an approver looks at before deciding.
type approvalPanel struct {
	proposal
	May []deed.Actor
	Run deed.RunMode
	// Votes are the consents there are.
	Votes []deed.Vote
	// Last is the latest call of this tool that was approved, with how this one
	// differs from it.
	Last    *row
	LastBy  []string
	Changes []change
	More    bool
	// Alike are other operations that did, may have done or may yet do something
	// about the same matter, or the same effect where the tool names no matter;
	// Since of them came after this one was asked for.
	Alike   []row
	Since   int
	Decides bool
	// Voted: the visitor has consented already.
	Voted bool
	// Listed is false when others are named as approvers.
	Listed  bool
	Reason  string
	Edited  string
	Editing bool
}

// lookBackFor is how many operations of the tool are looked through for the
// last approved one.
const lookBackFor = 200

func (v *visit) panel(op *deed.Operation) (*approvalPanel, error) {
	p := &approvalPanel{proposal: v.proposalOf(op), Decides: v.who.May(deed.RightApprove), Listed: true, Edited: string(op.Arguments)}
	if a := op.Approval; a != nil {
		p.May, p.Run, p.Votes = a.MayApprove, a.Run, a.Votes
		p.Listed = len(a.MayApprove) == 0 || slices.Contains(a.MayApprove, v.who.Actor)
		p.Voted = slices.ContainsFunc(a.Votes, func(vote deed.Vote) bool { return deed.SamePerson(vote.Approver, v.who.Actor) })
	}
	if err := v.alike(op, p); err != nil {
		return nil, err
	}
	page, err := v.console.Runtime.List(v.Context(), v.who, deed.Query{Tool: op.Tool, Limit: lookBackFor})
	if err != nil {
		return nil, err
	}
	for _, other := range page.Operations {
		if other.ID == op.ID || !approvedOnce(other) {
			continue
		}
		last, err := v.console.Runtime.Get(v.Context(), v.who, other.ID)
		if errors.Is(err, deed.ErrDamaged) {
			continue // nothing is compared with what was not sent
		}
		if err != nil {
			return nil, err
		}
		line := rowOf(last, v.now)
		p.Last, p.LastBy = &line, last.Approval.Approvers
		if last.Arguments != nil && op.Arguments != nil {
			p.Changes, p.More = difference(last.Arguments, op.Arguments)
		} else {
			p.Last = nil
		}
		break
	}
	return p, nil
}

// shownAlike is how many operations about the same matter a page shows.
const shownAlike = 5

// alike finds what else there is about the matter, the newest first.
func (v *visit) alike(op *deed.Operation, p *approvalPanel) error {
	others, err := deed.Alike(v.Context(), func(ctx context.Context, query deed.Query) (deed.Page, error) {
		return v.console.Runtime.List(ctx, v.who, query)
	}, op)
	if err != nil {
		return err
	}
	for _, other := range others[:min(len(others), shownAlike)] {
		line := rowOf(other, v.now)
		if line.At.After(op.ProposedAt) {
			p.Since++
		}
		p.Alike = append(p.Alike, line)
	}
	return nil
}

// approvedOnce reports whether people consented to an operation.
func approvedOnce(op *deed.Operation) bool {
	return op.Approval != nil && len(op.Approval.Approvers) > 0 && op.Status != deed.StatusDenied && op.Status != deed.StatusAwaitingApproval
}
