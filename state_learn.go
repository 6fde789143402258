// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"slices"
	"time"
)

var zeroTime time.Time

// learn writes down what an event says about attempts, proofs and consent,
// before the table decides where the operation goes. Nothing learnt is ever
// taken back.
func learn(op *Operation, c cause) {
	number := c.attempt
	if number == 0 {
		number = op.AttemptNumber()
	}
	switch c.event {
	case EventProposed, EventProposalVoided:
		op.Approval = c.approval
		if c.rulesHash != "" {
			op.RulesHash, op.Definition = c.rulesHash, c.definition
		}
	case EventApproved:
		op.Approval = c.approval
	case EventBegun, EventContinued:
		if c.begin != nil {
			begun := *c.begin
			if c.booking != nil && !op.holds() {
				begun.Bookings = []Booking{*c.booking}
			}
			op.Attempts = append(op.Attempts, begun)
		}
		if c.event == EventContinued {
			op.AnsweredState, op.RequestState = op.RequestState, ""
			op.Result, op.ResultDigest, op.ResultIsError = nil, "", false
		}
	case EventSucceeded, EventProved, EventResolvedCommitted:
		learnProof(op, number, c)
	case EventRefused, EventRefusedLate:
		clearAttempt(op, number, c)
		keepResult(op, c)
	case EventUnclear:
		endAttempt(op, number, c)
		keepResult(op, c)
	case EventInputRequested:
		endAttempt(op, number, c)
		op.RequestState = digestOf(c.outcome.RequestState)
		keepResult(op, c)
	case EventTaskGiven:
		if a := op.attempt(number); a != nil {
			a.TaskID, a.Outcome = c.outcome.TaskID, OutcomeTask
		}
	case EventFoundMany:
		// What was found is in the event; none of it is a receipt before a person
		// says so.
		if op.Message == "" {
			op.Message = c.message
		}
	case EventResolvedNot:
		if current := op.Current(); current != nil && c.newProviderKey {
			current.NewProviderKey = true
		}
	}
}

// learnProof stores the receipts of a proof and judges whether they speak of
// one effect or of several.
func learnProof(op *Operation, number int, c cause) {
	before := len(op.Receipts)
	completes := c.event == EventResolvedCommitted && before > 0 && !op.namesObject()
	for _, receipt := range c.receipts {
		receipt.OperationID, receipt.EffectFingerprint = op.ID, op.Fingerprint
		receipt.Status = StatusCommitted
		if op.Key.Family != FamilySecret && op.Key.Provenance != ProvenanceNone {
			receipt.IdempotencyKey = op.Key.Text
		}
		if receipt.Attempt == 0 {
			receipt.Attempt = number
		}
		if receipt.CommittedAt.IsZero() {
			receipt.CommittedAt = c.at
		}
		if completes && receipt.RemoteID != "" && !op.names(receipt.RemoteID) {
			// The person names the object that nobody had named: the same effect. One
			// besides is another.
			op.Diverged = op.Diverged || op.namesObject()
			op.Receipts = append(op.Receipts, receipt)
			continue
		}
		same, names := op.sameEffect(receipt)
		if same && !names {
			continue
		}
		if len(op.Receipts) > 0 && !same {
			op.Diverged = true
		}
		op.Receipts = append(op.Receipts, receipt)
	}
	if op.Status == StatusFailed && op.DecidedBy != "" || op.Reason == ReasonAbandoned ||
		op.Status == StatusCancelled || op.Status == StatusDenied {
		op.Contradicted = true
	}
	if a := op.attempt(number); a != nil && c.event != EventResolvedCommitted {
		a.Proved = true
		endAttempt(op, number, c)
	}
	if op.ResultIsError && op.Status != StatusCommitted {
		// What the tool called an error was none.
		op.Result, op.ResultDigest, op.ResultIsError = nil, "", false
	}
	keepResult(op, c)
}

// sameEffect reports whether a stored receipt already speaks of the effect
// that this one proves, and whether this one is the first to name its object.
// It is the same remote object, or the same attempt where one of the two names
// no object and no third names another.
func (op *Operation) sameEffect(receipt Receipt) (same, names bool) {
	unnamed, others := false, false
	for _, known := range op.Receipts {
		switch {
		case known.RemoteID == receipt.RemoteID && known.RemoteID != "":
			return true, false
		case known.Attempt != receipt.Attempt:
		case receipt.RemoteID == "", len(known.Items) > 0 && known.RemoteID == "":
			// The members of a batch have names of their own.
			return true, false
		case known.RemoteID == "":
			unnamed = true
		default:
			others = true
		}
	}
	same = unnamed && !others
	return same, same
}

// names reports whether a receipt names the remote object.
func (op *Operation) names(object string) bool {
	return slices.ContainsFunc(op.Receipts, func(known Receipt) bool { return known.RemoteID == object })
}

// namesObject reports whether any receipt names a remote object.
func (op *Operation) namesObject() bool {
	for _, known := range op.Receipts {
		if known.RemoteID != "" {
			return true
		}
	}
	return false
}

// clearAttempt notes that an attempt was not applied, and with it the
// attempts that it continued: the question they ended with has been refused.
func clearAttempt(op *Operation, number int, c cause) {
	for number > 0 {
		a := op.attempt(number)
		if a == nil {
			return
		}
		a.Cleared = true
		endAttempt(op, number, c)
		number = a.Continues
	}
}

func endAttempt(op *Operation, number int, c cause) {
	if a := op.attempt(number); a != nil && a.EndedAt.IsZero() {
		a.EndedAt = c.at
		a.Outcome = c.outcome.Kind
	}
}

// keepResult stores the upstream's answer unless a commit already has one:
// the bytes that were answered once are answered for ever.
func keepResult(op *Operation, c cause) {
	if len(c.outcome.Result) == 0 {
		return
	}
	if op.Status == StatusCommitted && op.ResultDigest != "" {
		return
	}
	if c.event == EventRefusedLate && op.Status != StatusUncertain {
		return
	}
	op.Result = c.outcome.Result
	if len(op.Result) > maxStoredResult || op.Key.Family == FamilySecret {
		op.Result = nil
	}
	op.ResultDigest = digestOf(c.outcome.Result)
	op.ResultIsError = c.outcome.ResultIsError
	if len(op.Receipts) > 0 && op.Receipts[0].ResultDigest == "" && len(c.receipts) > 0 {
		op.Receipts[0].ResultDigest = op.ResultDigest
	}
}

// maxStoredResult is the size in bytes up to which a result is kept beside
// its digest and receipt.
const maxStoredResult = 1 << 20

func (op *Operation) attempt(number int) *Attempt {
	if number < 1 || number > len(op.Attempts) {
		return nil
	}
	return &op.Attempts[number-1]
}

func retainUntil(op *Operation, c cause) time.Time {
	until := c.at.Add(c.retain)
	if op.ExpiresAt.After(until) {
		return op.ExpiresAt
	}
	return until
}
