// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Consent is a person's word about one proposal.
type Consent struct {
	// Digest is the proposal's, as the person was shown it; any other is
	// refused.
	Digest Digest
	// Reason is kept with the decision and, of a denial, told to the caller.
	Reason string
	// ID names a consent that was given elsewhere. It is spent once: under it no
	// other operation is approved. Empty when the person decides here.
	ID string
}

// ExternalConsent is a consent given elsewhere that came with a call. Whoever
// puts it into a Call has verified its signature and that Approver may speak.
type ExternalConsent struct {
	// ID is spent once within the tenant.
	ID string
	// Digest is the proposal's that it consents to.
	Digest   Digest
	Approver Actor
	// ExpiresAt ends its use, zero if it does not say.
	ExpiresAt time.Time
}

// Vote is one consent to a proposal.
type Vote struct {
	Approver Actor     `json:"approver"`
	At       time.Time `json:"at"`
	Reason   string    `json:"reason,omitempty"`
	// ConsentID is set when it was given elsewhere.
	ConsentID string `json:"consent_id,omitempty"`
}

// RunMode says who dispatches an operation once it is approved.
type RunMode string

const (
	// RunOnApproval: a gateway runs the frozen snapshot, see [Runtime.Ready].
	RunOnApproval RunMode = "on_approval"
	// RunOnCall: the caller's next call does.
	RunOnCall RunMode = "on_call"
)

// ConsentProblem says why a consent was not taken.
type ConsentProblem string

// The problems. They are looked for in this order, the last one before who consents.
const (
	// ConsentDecided: somebody was first, or the operation has moved on.
	ConsentDecided ConsentProblem = "already_decided"
	// ConsentOtherDigest: the proposal is another one by now.
	ConsentOtherDigest ConsentProblem = "other_digest"
	ConsentExpired     ConsentProblem = "expired"
	// ConsentNotApprover: only the listed approvers may decide.
	ConsentNotApprover ConsentProblem = "not_an_approver"
	// ConsentOwn: nobody approves what they asked for.
	ConsentOwn ConsentProblem = "own_request"
	// ConsentRepeated: this person has consented already; others are missing.
	ConsentRepeated ConsentProblem = "already_consented"
	// ConsentSpent: the id was used for another operation.
	ConsentSpent ConsentProblem = "id_spent"
	// ConsentObserved: a call of the operation was sent in observe mode and may
	// have had its effect.
	ConsentObserved ConsentProblem = "sent_in_observe_mode"
)

// ConsentError says that a consent or denial was not taken. Nothing was
// written. It unwraps to ErrForbidden where the person may not decide and to a
// *RefusedError where the operation has moved on.
type ConsentError struct {
	// Operation is where things stand now.
	Operation *Operation
	Event     EventName
	Problem   ConsentProblem
	// Current is the digest that a decision would have to name, empty when
	// nothing waits for one.
	Current Digest
	// By and At tell who decided and when; for ConsentSpent see Consumer.
	By []string
	At time.Time
	// Consumer is the operation that a consent id was spent for, empty for those
	// who may not read it.
	Consumer OperationID
	text     string
}

func (e *ConsentError) Error() string { return fmt.Sprintf("%s: %s", e.Operation.ID, e.text) }

func (e *ConsentError) Unwrap() error {
	switch e.Problem {
	case ConsentNotApprover, ConsentOwn:
		return ErrForbidden
	}
	return &RefusedError{Operation: e.Operation, Event: e.Event, Hint: e.text}
}

// word is a decision about a proposal, before it is judged.
type word struct {
	event    EventName
	approver Actor
	digest   Digest
	id       string
	reason   string
	at       time.Time
	// consumer is the operation that the id is spent for already, known the same
	// when whoever is answered may know it.
	consumer OperationID
	known    OperationID
	// ranBeside says what was sent in observe mode beside the operation.
	ranBeside ranBeside
}

// judge says why the word does not count where the operation stands, or nil.
func (w word) judge(op *Operation) *ConsentError {
	no := &ConsentError{Operation: op, Event: w.event}
	because := func(problem ConsentProblem, format string, args ...any) *ConsentError {
		no.Problem, no.text = problem, fmt.Sprintf(format, args...)
		return no
	}
	state := op.State()
	if op.Approval == nil || state != StateAwaitingApproval && state != StateAuthorized {
		no.By, no.At = decider(op)
		return because(ConsentDecided, "it does not wait for a decision: %s; nothing was changed", standing(op))
	}
	no.Current = op.Approval.Digest
	// Some readers are shown the beginning only: it holds what they have to name.
	switch {
	case len(w.digest) > len("sha256:") && w.digest != op.Approval.Digest && strings.HasPrefix(string(op.Approval.Digest), string(w.digest)):
		return because(ConsentOtherDigest, "write the whole digest, %s: that of the decision was cut, %.80q is how it begins; the proposal has not changed, and nothing was changed", op.Approval.Digest, w.digest)
	case w.digest != op.Approval.Digest:
		return because(ConsentOtherDigest, "the proposal is now %s, and the decision names %.80q: look at it again and name the one that it is now; nothing was changed", op.Approval.Digest, w.digest)
	case state == StateAuthorized && w.event == EventApproved:
		no.By, no.At = decider(op)
		return because(ConsentDecided, "it does not wait for a decision: %s; nothing was changed", standing(op))
	case !w.at.Before(op.Approval.ExpiresAt):
		return because(ConsentExpired, "the time to decide ended at %s; the caller has to propose it again", stamp(op.Approval.ExpiresAt))
	case len(op.Approval.MayApprove) > 0 && !slices.Contains(op.Approval.MayApprove, w.approver):
		return because(ConsentNotApprover, "%s is not among its approvers; nothing was changed", w.approver)
	}
	if w.event != EventApproved {
		return nil
	}
	switch {
	case w.ranBeside.holds(op, op.Effect):
		return because(ConsentObserved, "%s; nothing was changed: %s", w.ranBeside.text, besideRemedy(op))
	case SamePerson(w.approver, op.Actor) && !op.Approval.Self:
		return because(ConsentOwn, "%s asked for it, and nobody approves their own request; another person has to", w.approver)
	case slices.ContainsFunc(op.Approval.Votes, func(v Vote) bool { return SamePerson(v.Approver, w.approver) }):
		no.By, no.At = op.Approval.Approvers, op.Approval.Votes[len(op.Approval.Votes)-1].At
		return because(ConsentRepeated, "%s has consented already; %d of %d have, another person is missing", w.approver, len(op.Approval.Votes), op.Approval.Quorum)
	case w.consumer != "" && w.consumer != op.ID:
		no.Consumer = w.known
		return because(ConsentSpent, "%s; nothing was changed", spentFor(w.id, w.consumer, w.known))
	}
	return nil
}

// consoleOwner is who shows the token that a process without authentication
// prints: whoever started it, under no name of an operating system.
const consoleOwner Actor = "console:local"

// SamePerson reports whether two names may be those of one person. They may when
// they are equal whatever the case of their letters, also when one of them lacks
// the domain that the other has behind its last "@", or when one has the mark of
// somebody who works on the ledger itself; and when both are names of whoever sits
// at this machine. Names with two domains are two people's.
//
// Two people whom it takes for one need a third; one whom it took for two would
// agree with themselves.
func SamePerson(a, b Actor) bool {
	userA, atLedgerA := strings.CutPrefix(string(a), ByOperator)
	userB, atLedgerB := strings.CutPrefix(string(b), ByOperator)
	if a == consoleOwner && atLedgerB || b == consoleOwner && atLedgerA {
		return true
	}
	nameA, domainA := person(userA)
	nameB, domainB := person(userB)
	return strings.EqualFold(nameA, nameB) && (domainA == "" || domainB == "" || strings.EqualFold(domainA, domainB))
}

// person parts a name such as alice@acme.example from its domain.
func person(user string) (name, domain string) {
	if at := strings.LastIndexByte(user, '@'); at > 0 {
		return user[:at], user[at+1:]
	}
	return user, ""
}

// spentFor names the consumer of a consent to those who may know it.
func spentFor(id string, consumer, known OperationID) string {
	if consumer != known {
		return fmt.Sprintf("it was spent for another operation: consent %.80q", id)
	}
	return fmt.Sprintf("it was spent for %s: consent %.80q", consumer, id)
}

// consented is the approval with one more vote.
func (w word) consented(op *Operation) *Approval {
	next := op.Approval.clone()
	next.Votes = append(next.Votes, Vote{Approver: w.approver, At: w.at, Reason: w.reason, ConsentID: w.id})
	next.Approvers = append(next.Approvers, string(w.approver))
	if w.id != "" {
		next.ID = w.id
	}
	return next
}

// short reports whether the consent of more people is missing.
func (a *Approval) short() bool { return a.Quorum > 1 && len(a.Votes) < a.Quorum }

func (a *Approval) clone() *Approval {
	next := *a
	next.Approvers = slices.Clone(a.Approvers)
	next.Votes = slices.Clone(a.Votes)
	next.MayApprove = slices.Clone(a.MayApprove)
	return &next
}

// ConsentIDs lists the ids of consents given elsewhere that the approval has
// used. Stores keep each of them for one operation.
func (a *Approval) ConsentIDs() []string {
	if a == nil {
		return nil
	}
	var ids []string
	for _, vote := range a.Votes {
		if vote.ConsentID != "" {
			ids = append(ids, vote.ConsentID)
		}
	}
	return ids
}

// decider tells who moved an operation past its proposal, and when.
func decider(op *Operation) ([]string, time.Time) {
	if op.DecidedBy != "" {
		return []string{op.DecidedBy}, op.SettledAt
	}
	if op.Approval != nil && len(op.Approval.Votes) > 0 && !op.Approval.short() {
		return op.Approval.Approvers, op.Approval.Votes[len(op.Approval.Votes)-1].At
	}
	return nil, op.SettledAt
}

// standing says in words what became of a proposal.
func standing(op *Operation) string {
	by, at := decider(op)
	text := "it is " + string(op.Status)
	switch {
	case op.Status == StatusAuthorized || op.Approval != nil && !op.Approval.SpentAt.IsZero():
		text = fmt.Sprintf("approved by %s at %s", strings.Join(by, ", "), stamp(at))
		if spent := op.Approval.SpentAt; !spent.IsZero() {
			text += fmt.Sprintf(" and used at %s; it is %s", stamp(spent), op.Status)
		}
	case len(by) > 0:
		text = fmt.Sprintf("%s by %s at %s", op.Status, strings.Join(by, ", "), stamp(at))
		if op.Message != "" {
			text += ": " + op.Message
		}
	case op.SupersededBy != "":
		text = fmt.Sprintf("%s took its place", op.SupersededBy)
	}
	return text
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }
