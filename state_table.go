// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "strings"

// EventName names what happened to an operation. The events of the
// transition table are listed here; decision events carry the decision's
// name.
type EventName string

// The events of the transition table, in the order of its rows. EventBeginHeld,
// EventCallerLeft and EventRetentionPassed are never raised: a begin that is
// held is a decision event, a caller that leaves changes nothing, and removing
// what is past its retention is the Store's ([Store]).
const (
	EventProposed          EventName = "proposed"
	EventBegun             EventName = "begun"
	EventContinued         EventName = "continued"
	EventPolicyRefused     EventName = "policy_refused"
	EventProposalVoided    EventName = "proposal_voided"
	EventBeginHeld         EventName = "begin_held"
	EventApproved          EventName = "approved"
	EventApprovalDenied    EventName = "approval_denied"
	EventSuperseded        EventName = "superseded"
	EventApprovalLapsed    EventName = "approval_lapsed"
	EventTimeRanOut        EventName = "time_ran_out"
	EventCancelRequested   EventName = "cancel_requested"
	EventSucceeded         EventName = "succeeded"
	EventProved            EventName = "proved"
	EventRefused           EventName = "refused"
	EventRefusedLate       EventName = "refused_late"
	EventUnclear           EventName = "unclear"
	EventLeaseLost         EventName = "lease_lost"
	EventInputRequested    EventName = "input_requested"
	EventTaskGiven         EventName = "task_given"
	EventInputLapsed       EventName = "input_lapsed"
	EventFoundAbsent       EventName = "found_absent"
	EventFoundMany         EventName = "found_many"
	EventUndetermined      EventName = "undetermined"
	EventResolvedCommitted EventName = "resolved_committed"
	EventResolvedNot       EventName = "resolved_not_applied"
	EventResolvedAbandoned EventName = "resolved_abandoned"
	EventReopened          EventName = "reopened"
	EventCallerLeft        EventName = "caller_left"
	EventRetentionPassed   EventName = "retention_passed"
)

// Cell is what an event does to an operation in one state. The first word is
// a target state, or
//
//	=      the status stays; the event is recorded
//	!      refused, nothing written
//	·      cannot occur
//	R      refusal of the current attempt: commit if a proof is stored, else
//	       uncertain if another attempt is open, else cancelled if no more
//	       attempts are wanted, else failed
//	L      outcome lost: commit if a proof is stored, else uncertain
//	i m p  see the notes in docs/tables.md
//	trim   results and arguments go; the status stays
//	never  refused for ever
//
// and a second word is the letter of a note that guards or completes it.
type Cell string

// Target returns the cell's first word, Note its second.
func (c Cell) Target() string {
	target, _, _ := strings.Cut(string(c), " ")
	return target
}

// Note returns the letter that qualifies the cell, or "".
func (c Cell) Note() string {
	_, note, _ := strings.Cut(string(c), " ")
	return note
}

// Transition is one row of the table: what an event does in each state, in
// the order of [States].
type Transition struct {
	Event EventName
	Cells [13]Cell
}

// Transitions returns the transition table: the only moves there are. It is
// compared cell by cell with docs/tables.md.
func Transitions() []Transition {
	table := make([]Transition, len(transitions))
	copy(table, transitions[:])
	return table
}

// transitions is read only.
var transitions = [...]Transition{
	//                        none   AA      AU      EX            AI      CO      FR      FF      UN      AB      DE      CA      XP
	{EventProposed, [13]Cell{"AA", "=", "·", "·", "·", "·", "·", "·", "·", "·", "·", "·", "AA a"}},
	{EventBegun, [13]Cell{"EX", "·", "EX", "·", "·", "·", "EX b", "·", "EX c", "·", "·", "·", "·"}},
	{EventContinued, [13]Cell{"·", "·", "·", "·", "EX d", "·", "·", "·", "·", "·", "·", "·", "·"}},
	{EventPolicyRefused, [13]Cell{"= e", "=", "DE", "·", "=", "·", "=", "·", "=", "·", "·", "·", "·"}},
	{EventProposalVoided, [13]Cell{"·", "AA f", "AA f", "·", "=", "·", "AA f", "·", "=", "·", "·", "·", "·"}},
	{EventBeginHeld, [13]Cell{"= e", "=", "=", "·", "=", "·", "=", "·", "=", "·", "·", "·", "·"}},
	{EventApproved, [13]Cell{"!", "AU", "=", "!", "!", "!", "!", "!", "!", "!", "!", "!", "!"}},
	{EventApprovalDenied, [13]Cell{"!", "DE", "DE", "!", "!", "!", "!", "!", "!", "!", "!", "!", "!"}},
	{EventSuperseded, [13]Cell{"!", "CA g", "!", "!", "!", "!", "!", "!", "!", "!", "!", "!", "!"}},
	{EventApprovalLapsed, [13]Cell{"·", "XP", "XP", "=", "=", "=", "=", "=", "=", "=", "=", "=", "="}},
	{EventTimeRanOut, [13]Cell{"·", "XP", "XP", "=", "=", "=", "FF h", "=", "=", "=", "=", "=", "="}},
	{EventCancelRequested, [13]Cell{"!", "CA", "CA", "= N", "UN N", "!", "CA", "!", "= N", "!", "!", "=", "="}},
	{EventSucceeded, [13]Cell{"·", "·", "·", "CO", "·", "·", "·", "·", "·", "·", "·", "·", "·"}},
	{EventProved, [13]Cell{"·", "CO", "CO", "i", "CO", "= j", "CO", "CO", "CO", "CO", "CO k", "CO k", "CO k"}},
	{EventRefused, [13]Cell{"·", "·", "·", "R", "·", "·", "·", "·", "·", "·", "·", "·", "·"}},
	{EventRefusedLate, [13]Cell{"·", "=", "=", "=", "=", "= l", "=", "=", "m", "m", "=", "=", "="}},
	{EventUnclear, [13]Cell{"·", "·", "·", "L", "·", "·", "·", "·", "·", "·", "·", "·", "·"}},
	{EventLeaseLost, [13]Cell{"·", "·", "·", "L", "·", "·", "·", "·", "·", "·", "·", "·", "·"}},
	{EventInputRequested, [13]Cell{"·", "·", "·", "AI (P: CO)", "·", "·", "·", "·", "·", "·", "·", "·", "·"}},
	{EventTaskGiven, [13]Cell{"·", "·", "·", "=", "·", "·", "·", "·", "·", "·", "·", "·", "·"}},
	{EventInputLapsed, [13]Cell{"·", "·", "·", "·", "UN", "·", "·", "·", "·", "·", "·", "·", "·"}},
	{EventFoundAbsent, [13]Cell{"·", "·", "·", "·", "·", "=", "=", "=", "FR n", "=", "=", "=", "="}},
	{EventFoundMany, [13]Cell{"·", "·", "·", "=", "=", "=", "=", "=", "UN o", "=", "=", "=", "="}},
	{EventUndetermined, [13]Cell{"·", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "="}},
	{EventResolvedCommitted, [13]Cell{"!", "!", "!", "!", "CO", "= j", "CO", "CO", "CO", "CO", "p", "p", "p"}},
	{EventResolvedNot, [13]Cell{"!", "!", "!", "!", "FR n", "!", "!", "!", "FR n", "FF", "!", "!", "!"}},
	{EventResolvedAbandoned, [13]Cell{"!", "!", "!", "!", "AB", "!", "!", "!", "AB", "=", "!", "!", "!"}},
	{EventReopened, [13]Cell{"!", "!", "!", "!", "!", "!", "=", "FR h", "!", "!", "!", "!", "!"}},
	{EventCallerLeft, [13]Cell{"·", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "="}},
	{EventRetentionPassed, [13]Cell{"·", "=", "=", "=", "=", "trim", "=", "trim", "never", "never", "trim", "trim", "trim"}},
}

// cellOf looks a cell up; an unknown event cannot occur anywhere.
func cellOf(event EventName, state State) Cell {
	for i := range transitions {
		if transitions[i].Event != event {
			continue
		}
		for column, s := range States() {
			if s == state {
				return transitions[i].Cells[column]
			}
		}
	}
	return "·"
}
