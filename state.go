// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "fmt"

// apply is the one function that changes a status. It looks the move up in
// the transition table and returns the operation after the event and the
// event to be stored with it. The operation passed in is not changed.
func apply(op *Operation, c cause) (*Operation, Event, error) {
	state := op.State()
	cell := cellOf(c.event, state)
	target, note := cell.Target(), cell.Note()
	switch target {
	case "·":
		return nil, Event{}, fmt.Errorf("%s: %s cannot occur while the operation is %q", op.ID, c.event, op.Status)
	case "!", "never":
		return nil, Event{}, &RefusedError{Operation: op, Event: c.event}
	}
	if why := guard(note, op, c); why != "" {
		return nil, Event{}, &RefusedError{Operation: op, Event: c.event, Hint: why}
	}
	if target == "p" && len(op.Attempts) == 0 {
		return nil, Event{}, &RefusedError{Operation: op, Event: c.event, Hint: "no attempt was ever begun"}
	}

	next := op.clone()
	next.Version++
	learn(next, c)
	if c.event == EventApproved && next.Approval != nil && next.Approval.short() {
		target = "="
	}
	switch target {
	case "=":
	case "trim":
		next.Arguments, next.Result = nil, nil
	case "R":
		afterRefusal(next, c)
	case "L":
		afterLoss(next, c)
	case "i":
		if c.attempt == 0 || c.attempt == op.AttemptNumber() {
			moveTo(next, StateCommitted, c)
		}
	case "m":
		if !next.anyOpen() {
			if state == StateAbandoned {
				c.outcome.Final = true
			}
			afterRefusal(next, c)
		}
	case "p":
		moveTo(next, StateCommitted, c)
	case "AI":
		if next.proofStored() {
			moveTo(next, StateCommitted, c)
		} else {
			moveTo(next, StateAwaitingInput, c)
		}
	default:
		moveTo(next, State(target), c)
	}
	if note == "N" {
		next.NoMoreAttempts = true
	}
	if note == "n" && next.NoMoreAttempts {
		moveTo(next, StateCancelled, c)
	}
	account(next, c)
	if note == "l" && op.decidedByPersonOrWebhook() {
		next.Contradicted = true
	}
	return next, Event{
		Tenant: op.Tenant, OperationID: op.ID, Version: next.Version, At: c.at,
		Name: c.event, Actor: c.actor, Attempt: next.AttemptNumber(),
		From: op.Status, To: next.Status, Reason: next.Reason,
		Tool: op.Tool, Fingerprint: op.Fingerprint,
	}, nil
}

// afterRefusal is R of the table: the refusal of an attempt that is now
// cleared.
func afterRefusal(op *Operation, c cause) {
	switch {
	case op.proofStored():
		moveTo(op, StateCommitted, c)
	case op.anyOpen():
		c.outcome.Reason = ReasonOutcomeUnknown
		moveTo(op, StateUncertain, c)
	case op.NoMoreAttempts:
		moveTo(op, StateCancelled, c)
	case c.outcome.Final:
		moveTo(op, StateFailedFinal, c)
	default:
		moveTo(op, StateFailedRetryable, c)
	}
}

// afterLoss is L of the table: nobody knows what became of the attempt.
func afterLoss(op *Operation, c cause) {
	if op.proofStored() {
		moveTo(op, StateCommitted, c)
		return
	}
	moveTo(op, StateUncertain, c)
}

// moveTo sets the state and everything that goes with being in it.
func moveTo(op *Operation, state State, c cause) {
	op.Retryable = false
	op.ApprovalLapsed = false
	op.LeaseExpiresAt, op.InputExpiresAt, op.RetryAt = zeroTime, zeroTime, zeroTime
	switch state {
	case StateAwaitingApproval:
		op.Status, op.Reason = StatusAwaitingApproval, ReasonPending
		op.ProposedAt, op.DispatchBy = c.at, c.dispatchBy
		return
	case StateAuthorized:
		op.Status, op.Reason = StatusAuthorized, ""
		op.AuthorizedAt = c.at
		return
	case StateExecuting:
		op.Status, op.Reason = StatusExecuting, ""
		op.Message, op.DecidedBy = "", ""
		op.LeaseExpiresAt = c.at.Add(c.lease)
		if op.AuthorizedAt.IsZero() {
			op.AuthorizedAt = c.at
		}
		if op.Approval != nil && op.Approval.SpentAt.IsZero() {
			op.Approval.SpentAt = c.at
		}
		return
	case StateAwaitingInput:
		op.Status, op.Reason = StatusAwaitingInput, ReasonAwaitingInput
		op.InputExpiresAt = c.at.Add(c.input)
		return
	case StateCommitted:
		op.Status, op.Reason = StatusCommitted, ""
		op.Message = ""
	case StateFailedRetryable, StateFailedFinal:
		op.Status, op.Reason = StatusFailed, failureReason(c)
		op.Retryable = state == StateFailedRetryable
		if op.Retryable {
			op.RetryAt = c.at.Add(c.outcome.RetryAfter)
		}
		if c.event == EventReopened {
			op.DispatchBy = c.dispatchBy
		}
		op.Message, op.DecidedBy = c.message, c.by
	case StateUncertain:
		op.Status, op.Reason = StatusUncertain, ReasonOutcomeUnknown
		switch {
		case c.event == EventFoundMany:
			op.Reason = ReasonFoundMany
		case c.outcome.Reason == ReasonToolError:
			op.Reason = ReasonToolError
		}
		op.Message = c.message
	case StateAbandoned:
		op.Status, op.Reason = StatusUncertain, ReasonAbandoned
		op.Message, op.DecidedBy = c.message, c.by
	case StateDenied:
		op.Status, op.Reason = StatusDenied, c.reason
		op.Message, op.DecidedBy = c.message, c.by
	case StateCancelled:
		op.Status, op.Reason = StatusCancelled, ReasonCancelled
		if c.event == EventSuperseded {
			op.Reason, op.SupersededBy = ReasonSuperseded, c.successor
		}
		op.Message, op.DecidedBy = c.message, c.by
	case StateExpired:
		op.Status, op.Reason = StatusExpired, ReasonNeverRan
		op.ApprovalLapsed = c.event == EventApprovalLapsed
	}
	op.SettledAt = c.at
	op.RetainUntil = retainUntil(op, c)
}

// failureReason says why an operation is failed.
func failureReason(c cause) Reason {
	switch c.event {
	case EventFoundAbsent:
		return ReasonAbsent
	case EventResolvedNot:
		return ReasonResolved
	case EventTimeRanOut:
		return ReasonTooOld
	case EventReopened:
		return ReasonResolved
	}
	if c.outcome.Kind == OutcomeUnsent {
		return ReasonNotSent
	}
	return ReasonRefused
}
