// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"strings"
	"time"
)

// cause is an event about to be applied to an operation, with what it brings.
type cause struct {
	event EventName
	at    time.Time
	actor Actor
	// attempt is the attempt that a reply, proof or verdict is about; 0 means
	// the current one.
	attempt int
	// begin is the attempt that begun and continued add.
	begin *Attempt
	// outcome is what the dispatcher saw.
	outcome Outcome
	// receipts are the proofs of a commit.
	receipts []Receipt
	// newProviderKey: the next attempt gets another provider key.
	newProviderKey bool
	// by names the person or strategy that decided.
	by string
	// reason and message explain a decision to people.
	reason  Reason
	message string
	// approval replaces the operation's consent: a new proposal, or the
	// approved one.
	approval *Approval
	// dispatchBy restarts the right to begin.
	dispatchBy time.Time
	// booking is the money that a begin sets aside, actual what an effect did
	// cost; nil for none.
	booking *Booking
	actual  *Amount
	// lease, input and retain are the durations of the tool's rule.
	lease  time.Duration
	input  time.Duration
	retain time.Duration
	// arrived is when the call behind a begin was received.
	arrived time.Time
	// again permits a begin from uncertain: an idempotent tool, or the same
	// bytes under a declared provider key.
	again bool
	// successor is the operation that takes over.
	successor OperationID
	// rulesHash and definition replace those of a voided proposal.
	rulesHash  Digest
	definition Digest
}

// guard says why a note of the transition table forbids the move, or "".
func guard(note string, op *Operation, c cause) string {
	switch note {
	case "a":
		switch {
		case !op.ApprovalLapsed:
			return "it ran out of time, not of approval"
		case op.NoMoreAttempts:
			return "it was cancelled"
		case !op.ExpiresAt.IsZero() && !c.at.Before(op.ExpiresAt):
			return "the caller's deadline has passed"
		}
	case "b":
		return mayRetry(op, c.at, c.arrived)
	case "c":
		if !c.again {
			return "only an idempotent tool, or the same bytes under a provider key, may run again while it is uncertain"
		}
	case "k":
		if len(op.Attempts) == 0 {
			return "no attempt was ever begun"
		}
	case "n":
		if op.Reason == ReasonFoundMany {
			return "the action was found more than once"
		}
	}
	return ""
}

// mayRetry says why a failed, retryable operation may not begin again, or "".
func mayRetry(op *Operation, now, arrived time.Time) string {
	switch {
	case op.NoMoreAttempts:
		return "it was cancelled"
	case !op.DispatchBy.IsZero() && !now.Before(op.DispatchBy):
		return "it is too old"
	case now.Before(op.RetryAt):
		return "it is too early"
	case !arrived.IsZero() && arrived.Before(op.SettledAt):
		return "the call came before the failure"
	case op.Approval != nil && !now.Before(op.Approval.ExpiresAt):
		return "its approval has expired"
	}
	return ""
}

// decidedByPersonOrWebhook reports whether a commit rests on somebody's word
// rather than on a reply or a look-up.
func (op *Operation) decidedByPersonOrWebhook() bool {
	for _, r := range op.Receipts {
		if strings.HasPrefix(r.EstablishedBy, ByOperator) || r.EstablishedBy == ByWebhook {
			return true
		}
	}
	return false
}
