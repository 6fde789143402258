// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"net/http"
	"strings"

	"github.com/deed-run/deed"
)

// consent reads the digest that a form names. What a person consents to is what
// the form showed, never what the ledger has meanwhile.
func (v *visit) consent(reasonNeeded bool) (deed.Consent, string) {
	reason, wrong := v.reason(reasonNeeded)
	c := deed.Consent{Digest: deed.Digest(v.PostFormValue("digest")), Reason: reason}
	if c.Digest == "" {
		wrong = "The form names no digest, so that it is not known what was looked at. Nothing was decided."
	}
	return c, wrong
}

// approve answers POST /op/{id}/approve.
func (v *visit) approve() {
	if v.lacks(deed.RightApprove) {
		return
	}
	consent, wrong := v.consent(false)
	if wrong == "" {
		wrong = v.careless()
	}
	if wrong != "" {
		v.undecided(http.StatusBadRequest, wrong)
		return
	}
	op, err := v.console.Runtime.Approve(v.Context(), v.who, v.id(), consent)
	if err != nil {
		v.notTaken(err)
		return
	}
	done := "approved"
	if op.Status == deed.StatusAwaitingApproval {
		done = "agreed"
	}
	v.onTo("/op/"+string(op.ID), done)
}

// careless says what a form about a dangerous or long call lacks.
func (v *visit) careless() string {
	op, err := v.console.Runtime.Get(v.Context(), v.who, v.id())
	if err != nil {
		return "" // the decision itself will say so
	}
	if risk, _ := v.console.risk(op); risk == RiskHigh && strings.TrimSpace(v.PostFormValue("confirm")) != string(op.Tool) {
		return "The risk is high: type the tool's name to confirm. Nothing was decided."
	}
	if payloadOf(op.Arguments).Cut && v.PostFormValue("whole") != "yes" {
		return "The page shows only the beginning of the arguments: download them, read them, and say so. Nothing was decided."
	}
	return ""
}

// deny answers POST /op/{id}/deny.
func (v *visit) deny() {
	if v.lacks(deed.RightApprove) {
		return
	}
	consent, wrong := v.consent(true)
	if wrong != "" {
		v.undecided(http.StatusBadRequest, strings.Replace(wrong, "say how you know", "the agent is told it", 1))
		return
	}
	op, err := v.console.Runtime.Deny(v.Context(), v.who, v.id(), consent)
	if err != nil {
		v.notTaken(err)
		return
	}
	v.onTo("/op/"+string(op.ID), "denied")
}

// edit answers POST /op/{id}/edit.
func (v *visit) edit() {
	if v.lacks(deed.RightApprove) {
		return
	}
	consent, wrong := v.consent(true)
	if wrong == "" {
		wrong = v.careless()
	}
	if wrong != "" {
		v.undecided(http.StatusBadRequest, strings.Replace(wrong, "say how you know", "say why it had to be changed", 1))
		return
	}
	op, err := v.console.Runtime.EditAndApprove(v.Context(), v.who, v.id(), consent.Digest, []byte(v.PostFormValue("arguments")), consent.Reason)
	if err != nil {
		v.notTaken(err)
		return
	}
	v.onTo("/op/"+string(op.ID), "edited")
}

// undecided shows the proposal again with what was typed.
func (v *visit) undecided(status int, problem string) {
	v.operationWith(status, func(p *operationPage) {
		p.Problem = problem
		if p.Approval != nil {
			p.Approval.Reason = v.PostFormValue("reason")
			if edited := v.PostFormValue("arguments"); edited != "" {
				p.Approval.Edited, p.Approval.Editing = edited, true
			}
		}
	})
}

// notTaken says why a decision did not count. That somebody else decided is
// said, with who and when: the page does not just look different.
func (v *visit) notTaken(err error) {
	why := v.failureOf(err)
	var no *deed.ConsentError
	switch {
	case errors.Is(err, deed.ErrNotFound):
		v.failed(err)
		return
	case errors.As(err, &no) && no.Problem == deed.ConsentDecided:
		why = failure{Status: http.StatusConflict, Head: "Decided elsewhere", Text: no.Error() + "."}
	case errors.As(err, &no):
		if why.Status == http.StatusConflict {
			why.Head = "Not taken"
		}
		why.Text = no.Error() + "."
	case why.Status == http.StatusInternalServerError:
		why = failure{Status: http.StatusBadRequest, Head: "Not taken", Text: err.Error() + ". Nothing was decided."}
	}
	v.undecided(why.Status, why.Head+": "+why.Text)
}

// manyPage lists what is approved together, whole.
type manyPage struct {
	Tool    deed.Tool
	Many    []oneOfMany
	Problem string
	Results []string
}

type oneOfMany struct {
	proposal
	Sent payload
}

// reviewMany answers POST /approvals/review: it shows the exact arguments of
// everything that was ticked and decides nothing.
func (v *visit) reviewMany() {
	if v.lacks(deed.RightApprove) {
		return
	}
	p := manyPage{}
	for _, id := range v.PostForm["id"] {
		op, err := v.console.Runtime.Get(v.Context(), v.who, deed.OperationID(id))
		if err != nil {
			v.failed(err)
			return
		}
		if p.Problem = v.together(&p, op); p.Problem != "" {
			v.show(http.StatusBadRequest, "many", "Approve together", p)
			return
		}
		p.Many = append(p.Many, oneOfMany{v.proposalOf(op), payloadOf(op.Arguments)})
	}
	if len(p.Many) == 0 {
		p.Problem = "Nothing was ticked. Nothing was decided."
		v.show(http.StatusBadRequest, "many", "Approve together", p)
		return
	}
	v.show(http.StatusOK, "many", "Approve together", p)
}

// together says why an operation may not be approved with those before it.
func (v *visit) together(p *manyPage, op *deed.Operation) string {
	risk, _ := v.console.risk(op)
	switch {
	case len(p.Many) >= shownApprovals:
		return "Too many were ticked. Nothing was decided."
	case p.Tool != "" && op.Tool != p.Tool:
		return "Only calls of one tool are approved together. Nothing was decided."
	case risk != RiskLow:
		return "Only calls of low risk are approved together; " + string(op.Tool) + " is of " + string(risk) + " risk. Nothing was decided."
	case payloadOf(op.Arguments).Cut:
		return string(op.ID) + " is too long to be read here. Decide it by itself. Nothing was decided."
	}
	p.Tool = op.Tool
	return ""
}

// approveMany answers POST /approvals/approve. Each is decided for itself, under
// the digest that was shown, and each says what became of it.
func (v *visit) approveMany() {
	if v.lacks(deed.RightApprove) {
		return
	}
	p := manyPage{}
	reason, wrong := v.reason(false)
	var consents []deed.Consent
	var ids []deed.OperationID
	for _, pair := range v.PostForm["decide"] {
		id, digest, _ := strings.Cut(pair, " ")
		op, err := v.console.Runtime.Get(v.Context(), v.who, deed.OperationID(id))
		if err != nil {
			v.failed(err)
			return
		}
		if problem := v.together(&p, op); problem != "" && wrong == "" {
			wrong = problem
		}
		p.Many = append(p.Many, oneOfMany{v.proposalOf(op), payloadOf(op.Arguments)})
		ids, consents = append(ids, op.ID), append(consents, deed.Consent{Digest: deed.Digest(digest), Reason: reason})
	}
	if p.Problem = wrong; wrong != "" || len(ids) == 0 {
		v.show(http.StatusBadRequest, "many", "Approve together", p)
		return
	}
	p.Many = nil
	for i, id := range ids {
		if _, err := v.console.Runtime.Approve(v.Context(), v.who, id, consents[i]); err != nil {
			p.Results = append(p.Results, string(id)+": not taken. "+err.Error())
			continue
		}
		p.Results = append(p.Results, string(id)+": approved")
	}
	v.show(http.StatusOK, "many", "Approved together", p)
}
