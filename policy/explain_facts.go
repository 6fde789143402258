// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"github.com/deed-run/deed"
)

// ApprovalExplanation says who must consent, and when.
type ApprovalExplanation struct {
	When      string       `json:"when"`
	Approvers []deed.Actor `json:"approvers,omitempty"`
	Quorum    int          `json:"quorum"`
	Expires   string       `json:"expires"`
	// Run is on_approval or on_call.
	Run  string `json:"run"`
	Self bool   `json:"self"`
}

// BudgetExplanation says what the call costs and of what.
type BudgetExplanation struct {
	Name string `json:"name"`
	// Amount and Limit are exact decimals.
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
	Limit    string `json:"limit"`
	// Window is a duration, day, week, month, or always.
	Window string `json:"window"`
	Scope  string `json:"scope"`
}

// PlantedMark is one mark of an operation and where it travels: a pointer, a
// header, or a name in _meta.
type PlantedMark struct {
	Mark string `json:"mark"`
	At   string `json:"at"`
}

// ReconcileExplanation says how a lost effect is looked up.
type ReconcileExplanation struct {
	Tool   deed.Tool `json:"tool"`
	Found  string    `json:"found"`
	GiveUp string    `json:"give_up"`
	// AbsenceCountsAfter is how long after the dispatch not finding it may count,
	// and empty when it never does.
	AbsenceCountsAfter string `json:"absence_counts_after,omitempty"`
	Inline             bool   `json:"inline"`
}

// The words of [Explanation.Approval].
const (
	approvalNone      = "none"
	approvalRequired  = "required"
	approvalNotNeeded = "not needed"
)

// consent fills in what a person has to say.
func (e *Explanation) consent(entry Tool, rule deed.Rule, arguments []byte, principal deed.Principal) {
	if rule.Approval == nil || !rule.Mutates() {
		return
	}
	e.Approval = approvalRequired
	if rule.Approval.When != nil && !rule.Approval.When(arguments, principal) {
		e.Approval = approvalNotNeeded
	}
	run := "on_approval"
	if rule.Approval.OnCall {
		run = "on_call"
	}
	e.ApprovalRule = &ApprovalExplanation{
		When: entry.Approval.condition(), Approvers: rule.Approval.Approvers, Quorum: rule.Approval.Quorum,
		Expires: short(rule.Approval.Expires), Run: run, Self: rule.Approval.Self,
	}
}

// money fills in what the call costs; the error refuses it.
func (e *Explanation) money(rule deed.Rule, arguments []byte) error {
	if rule.Spend == nil || !rule.Mutates() {
		return nil
	}
	budget := rule.Spend.Budget
	window := budget.Calendar
	switch {
	case window != "":
	case budget.Window > 0:
		window = short(budget.Window)
	default:
		window = "always"
	}
	e.Budget = &BudgetExplanation{Name: budget.Name, Currency: budget.Currency, Limit: budget.Limit.String(), Window: window, Scope: budget.Scope}
	amount, err := rule.Spend.Amount(arguments)
	if err != nil {
		return err
	}
	e.Budget.Amount = amount.String()
	return nil
}

// finding fills in how the effect would be found again; the error refuses the
// call.
func (e *Explanation) finding(entry Tool, rule deed.Rule, arguments []byte) error {
	if !rule.Mutates() {
		return nil
	}
	if m := entry.Marker; m != nil {
		e.Planted = append(e.Planted, PlantedMark{varMarker, m.Into + m.Append})
	}
	if entry.ClientID != nil {
		e.Planted = append(e.Planted, PlantedMark{varClientID, entry.ClientID.Into})
	}
	if p := entry.ProviderKey; p.travels() {
		e.Planted = append(e.Planted, PlantedMark{varProviderKey, p.place()})
	}
	if p := entry.Reconcile; p != nil {
		e.Reconcile = &ReconcileExplanation{Tool: p.Tool, Found: p.found.text(), GiveUp: short(p.GiveUp), Inline: p.Inline}
		if rule.MaxProcessing > 0 {
			e.Reconcile.AbsenceCountsAfter = short(rule.Lease + rule.MaxProcessing + p.Lag)
		}
	}
	if rule.Planting == nil {
		return nil
	}
	_, err := rule.Planting.Plant(arguments, deed.Marks{Marker: varMarker, ClientID: varClientID, ProviderKey: varProviderKey})
	return err
}

// place is where the key travels, in words.
func (p *ProviderKey) place() string {
	switch {
	case p.Header != "":
		return "header " + p.Header
	case p.Meta != "":
		return "_meta " + p.Meta
	case p.Request != "":
		return p.Request
	}
	return p.Into
}
