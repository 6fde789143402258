// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

// approve answers POST /v1/operations/{id}/approve; with arguments it edits
// and approves.
func (s *Server) approve(x *exchange) reply {
	var body api.ApproveRequest
	if no, refused := x.decode(&body); refused {
		return no
	}
	if body.Digest == "" {
		return malformed("digest is missing: name the proposal that you looked at; nothing was changed")
	}
	if body.Arguments != nil {
		return s.approved(x)(s.Runtime.EditAndApprove(x.Context(), x.who, x.id(), body.Digest, body.Arguments, body.Reason))
	}
	return s.approved(x)(s.Runtime.Approve(x.Context(), x.who, x.id(), deed.Consent{Digest: body.Digest, Reason: body.Reason}))
}

// approved answers with the operation, and with what keeps it from being sent now.
// A budget that cannot be read hides no approval.
func (s *Server) approved(x *exchange) func(*deed.Operation, error) reply {
	return func(op *deed.Operation, err error) reply {
		if err != nil {
			return s.failure(err)
		}
		view := s.viewFor(x.who, op, false)
		if s.Short != nil && op.Status == deed.StatusAuthorized {
			if why, short, err := s.Short(x.Context(), x.who, op); err == nil && short {
				view.Short = &api.Shortage{
					Budget: why.Budget, Share: why.Share, Currency: why.Currency,
					Amount: why.Amount.String(), Left: max(0, why.Left).String(), Held: why.Held.String(),
				}
			}
		}
		return answer(http.StatusOK, view)
	}
}

// deny answers POST /v1/operations/{id}/deny.
func (s *Server) deny(x *exchange) reply {
	var body api.DenyRequest
	if no, refused := x.decode(&body); refused {
		return no
	}
	if body.Digest == "" {
		return malformed("digest is missing: name the proposal that you looked at; nothing was changed")
	}
	return s.operated(s.Runtime.Deny(x.Context(), x.who, x.id(), deed.Consent{Digest: body.Digest, Reason: body.Reason}))
}

// reconcile answers POST /v1/operations/{id}/reconcile.
func (s *Server) reconcile(x *exchange) reply {
	if no, refused := x.decode(&api.ReasonRequest{}); refused {
		return no
	}
	finding, err := s.Runtime.Reconcile(x.Context(), x.who, x.id())
	if err != nil {
		return s.failure(err)
	}
	view := api.Finding{
		Operation: s.viewFor(x.who, finding.Operation, false), Verdict: string(finding.Verdict.Kind), Counted: string(finding.Counted),
		Strategy: finding.Verdict.Strategy, Evidence: finding.Verdict.Evidence, Why: finding.Why, Stale: finding.Stale,
	}
	if !tends(x.who) {
		view.Evidence = deed.Told(view.Evidence)
	}
	for _, match := range finding.Verdict.Matches {
		view.RemoteIDs = append(view.RemoteIDs, match.RemoteID)
	}
	return answer(http.StatusOK, view)
}

// run answers POST /v1/operations/{id}/run: the frozen snapshot is sent again
// where the operation allows an attempt.
func (s *Server) run(x *exchange) reply {
	if no, refused := x.decode(&api.ReasonRequest{}); refused {
		return no
	}
	if s.Run == nil {
		return problem(http.StatusNotFound, api.TypeNotFound, "There is no such thing", "this gateway runs no tools; nothing was sent")
	}
	op, err := s.Runtime.Get(x.Context(), x.who, x.id())
	if err != nil {
		return s.failure(err)
	}
	a, err := s.Run(x.Context(), x.who, op)
	if err != nil {
		return s.failure(err)
	}
	return s.answered(x, a, func(v api.Verdict) any { return api.CallAnswer{Verdict: v} })
}

// budgets answers GET /v1/budgets.
func (s *Server) budgets(x *exchange) reply {
	list := api.Budgets{Budgets: []api.Budget{}}
	standing, err := s.Runtime.Budgets(x.Context(), x.who, s.Budgets)
	if err != nil {
		return s.failure(err)
	}
	for _, b := range standing {
		list.Budgets = append(list.Budgets, api.Budget{
			Name: b.Budget.Name, Share: b.Share, Currency: b.Budget.Currency, Limit: b.Budget.Limit.String(), Held: b.Held.String(),
			Spent: b.Spent.String(), Left: b.Left.String(), Window: windowOf(b.Budget),
		})
	}
	slices.SortStableFunc(list.Budgets, func(a, b api.Budget) int { return cmp.Compare(a.Name, b.Name) })
	return answer(http.StatusOK, list)
}

func windowOf(b deed.Budget) string {
	switch {
	case b.Calendar != "":
		return b.Calendar
	case b.Window > 0:
		return b.Window.String()
	}
	return ""
}

// Runner sends the frozen snapshot of an operation again, where the operation
// allows an attempt: see [deed.Runtime.CallOf].
type Runner func(ctx context.Context, who deed.Principal, op *deed.Operation) (deed.Answer, error)
