// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "time"

// Status is where an operation stands. Only the transition table moves it.
type Status string

const (
	// StatusNone: no record.
	StatusNone Status = ""
	// StatusAwaitingApproval: frozen, nothing sent. A person moves it on;
	// the proposal lapses by itself.
	StatusAwaitingApproval Status = "awaiting_approval"
	// StatusAuthorized: may be dispatched, nothing sent.
	StatusAuthorized Status = "authorized"
	// StatusExecuting: an attempt may send and holds a lease.
	StatusExecuting Status = "executing"
	// StatusAwaitingInput: the attempt ended with a question to the caller.
	StatusAwaitingInput Status = "awaiting_input"
	// StatusCommitted: a receipt is durable. Terminal.
	StatusCommitted Status = "committed"
	// StatusFailed: not applied, by proof or by a named decision.
	StatusFailed Status = "failed"
	// StatusUncertain: may have been applied; nobody knows yet.
	StatusUncertain Status = "uncertain"
	// StatusDenied: a person's no, or a policy that changed before dispatch.
	StatusDenied Status = "denied"
	// StatusCancelled: an explicit cancel, with nothing applied.
	StatusCancelled Status = "cancelled"
	// StatusExpired: never ran, and may not run under this proposal.
	StatusExpired Status = "expired"
)

// Statuses lists every stored status in the order of the tables.
func Statuses() []Status {
	return []Status{
		StatusAwaitingApproval, StatusAuthorized, StatusExecuting, StatusAwaitingInput,
		StatusCommitted, StatusFailed, StatusUncertain, StatusDenied, StatusCancelled, StatusExpired,
	}
}

// Filter is a group of statuses under which listings may be asked for.
type Filter string

// The filters of every listing.
const (
	FilterPending   Filter = "pending"
	FilterAccepted  Filter = "accepted"
	FilterFailed    Filter = "failed"
	FilterUncertain Filter = "uncertain"
	FilterClosed    Filter = "closed"
)

// Statuses returns the statuses of the group, or the status of the same name.
// An unknown filter yields nil.
func (f Filter) Statuses() []Status {
	switch f {
	case FilterPending:
		return []Status{StatusAwaitingApproval, StatusAuthorized, StatusExecuting, StatusAwaitingInput}
	case FilterAccepted:
		return []Status{StatusCommitted}
	case FilterClosed:
		return []Status{StatusDenied, StatusCancelled, StatusExpired}
	}
	for _, s := range Statuses() {
		if string(s) == string(f) {
			return []Status{s}
		}
	}
	return nil
}

// State is a status refined by what decides the next step: a column of the
// transition table.
type State string

// The states, by the abbreviations that docs/tables.md uses.
const (
	StateNone             State = "none"
	StateAwaitingApproval State = "AA"
	StateAuthorized       State = "AU"
	StateExecuting        State = "EX"
	StateAwaitingInput    State = "AI"
	StateCommitted        State = "CO"
	StateFailedRetryable  State = "FR"
	StateFailedFinal      State = "FF"
	StateUncertain        State = "UN"
	StateAbandoned        State = "AB"
	StateDenied           State = "DE"
	StateCancelled        State = "CA"
	StateExpired          State = "XP"
)

// States lists every state in the order of the table's columns.
func States() []State {
	return []State{
		StateNone, StateAwaitingApproval, StateAuthorized, StateExecuting, StateAwaitingInput,
		StateCommitted, StateFailedRetryable, StateFailedFinal, StateUncertain, StateAbandoned,
		StateDenied, StateCancelled, StateExpired,
	}
}

// State returns the operation's state as stored. A nil operation has none.
func (op *Operation) State() State {
	if op == nil {
		return StateNone
	}
	switch op.Status {
	case StatusAwaitingApproval:
		return StateAwaitingApproval
	case StatusAuthorized:
		return StateAuthorized
	case StatusExecuting:
		return StateExecuting
	case StatusAwaitingInput:
		return StateAwaitingInput
	case StatusCommitted:
		return StateCommitted
	case StatusFailed:
		if op.Retryable {
			return StateFailedRetryable
		}
		return StateFailedFinal
	case StatusUncertain:
		if op.Reason == ReasonAbandoned {
			return StateAbandoned
		}
		return StateUncertain
	case StatusDenied:
		return StateDenied
	case StatusCancelled:
		return StateCancelled
	case StatusExpired:
		return StateExpired
	}
	return StateNone
}

// EffectiveState is State, except that executing with an expired lease is
// uncertain before anyone has written it, and a question nobody answered in
// time is uncertain too.
func (op *Operation) EffectiveState(now time.Time) State {
	state := op.State()
	switch {
	case state == StateExecuting && !now.Before(op.LeaseExpiresAt):
		return StateUncertain
	case state == StateAwaitingInput && !now.Before(op.InputExpiresAt):
		return StateUncertain
	}
	return state
}

// EffectiveStatus is the status that belongs to EffectiveState.
func (op *Operation) EffectiveStatus(now time.Time) Status {
	if op.EffectiveState(now) == StateUncertain {
		return StatusUncertain
	}
	return op.Status
}

// Unresolved reports whether an effect may exist and nobody knows: effective
// status executing, awaiting_input or uncertain, but not abandoned.
func (op *Operation) Unresolved(now time.Time) bool {
	switch op.EffectiveState(now) {
	case StateExecuting, StateAwaitingInput, StateUncertain:
		return true
	}
	return false
}
