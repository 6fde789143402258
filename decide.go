// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

// decide answers a call: from the operation that its key names, or, when
// there is none, from its twins. It is docs/tables.md sections 4 and 5.
func decide(q inquiry) ruling {
	if q.view.Operation == nil {
		return decideNew(q, nil)
	}
	return decideExisting(q, q.view.Operation)
}

// decideExisting is table 4: the first row that applies answers.
func decideExisting(q inquiry, op *Operation) ruling {
	if !q.principal.reads(op.Actor) || op.Key.Family == FamilySecret && q.principal.Actor != op.Actor {
		return ruling{act: actAnswer, decision: Denied, reason: ReasonNotYours, op: op, hidden: true}
	}
	r := decideSame(q, op)
	if op.UpstreamIdentity != q.facts.UpstreamIdentity && (r.act != actAnswer || r.decision == Replay) {
		return answered(Denied, ReasonUpstreamChanged, op)
	}
	return r
}

// decideSame is table 4 from row 3 on.
func decideSame(q inquiry, op *Operation) ruling {
	fingerprint, known := q.fingerprintFor(op)
	if !known {
		return answered(Denied, ReasonFingerprintUnverifiable, op)
	}
	if fingerprint != op.Fingerprint {
		if superseded(op) {
			return followed(op)
		}
		return decideOther(q, op)
	}
	if q.claimed != "" && q.claimed != fingerprint {
		return answered(Denied, ReasonFingerprintMismatch, op)
	}
	if q.view.Found.Provenance == ProvenanceModel && op.Status == StatusCommitted && windowOver(q, op) {
		return answered(Conflict, ReasonKeyReusedAfterWindow, op)
	}
	return decideStatus(q, op)
}

// decideOther answers a reused identity whose effect differs: rows 4 and 5.
func decideOther(q inquiry, op *Operation) ruling {
	if q.provenance == ProvenanceDerived {
		for _, older := range q.view.Lineage {
			if fingerprint, known := q.fingerprintFor(older); known && fingerprint == older.Fingerprint {
				return storedAnswer(q, older)
			}
		}
		if newGeneration(q, op) {
			return decideNew(q, op)
		}
	}
	return answered(Conflict, ReasonKeyReused, op)
}

// superseded operations answer as their successors, for the effects of both.
func superseded(op *Operation) bool {
	return op.Status == StatusCancelled && op.Reason == ReasonSuperseded
}

func followed(op *Operation) ruling {
	return ruling{act: actFollow, decision: Denied, reason: ReasonCancelled, op: op}
}

// newGeneration reports whether corrected arguments open the next generation
// of a derived key: everything before is proved, decided or never ran.
func newGeneration(q inquiry, op *Operation) bool {
	switch op.EffectiveState(q.now) {
	case StateFailedRetryable, StateFailedFinal, StateDenied, StateCancelled, StateExpired:
		return true
	case StateUncertain:
		return op.Status == StatusUncertain && op.Reason == ReasonToolError
	}
	return false
}

// storedAnswer is what an older generation answers: never a new attempt.
func storedAnswer(q inquiry, op *Operation) ruling {
	r := decideStatus(q, op)
	if r.act != actBegin && r.act != actPropose {
		return r
	}
	return shownStatus(op)
}

// windowOver reports whether a model's key has become too old to mean the
// same action.
func windowOver(q inquiry, op *Operation) bool {
	if !op.Delivered() {
		return false
	}
	since := op.SettledAt
	if op.DeliveredAt.After(since) {
		since = op.DeliveredAt
	}
	return q.now.After(since.Add(q.rule.ModelWindow))
}

// decideStatus is the second half of table 4: same identity, same effect.
func decideStatus(q inquiry, op *Operation) ruling {
	if r, refused := checkContinuation(q, op); refused {
		return r
	}
	switch op.EffectiveState(q.now) {
	case StateAwaitingApproval:
		return decideWaiting(q, op)
	case StateAuthorized:
		return beginExisting(q, op)
	case StateExecuting:
		if q.claimedAlready(op) {
			return ruling{act: actRegrant, decision: Execute, op: op}
		}
		return ruling{act: actWait, decision: InProgress, reason: ReasonLeaseLive, op: op, retryAfter: untilLeaseEnds(op, q.now)}
	case StateAwaitingInput:
		if q.continues {
			return beginExisting(q, op)
		}
		return answered(InProgress, ReasonAwaitingInput, op)
	case StateCommitted:
		return replay(q, op)
	case StateFailedRetryable:
		return decideRetry(q, op)
	case StateFailedFinal:
		return answered(Failed, op.Reason, op)
	case StateUncertain:
		if !q.joined[op.ID] && mayRunAgain(q, op) {
			return beginExisting(q, op)
		}
		return answered(Uncertain, uncertainReason(op), op)
	case StateAbandoned:
		return answered(Uncertain, ReasonAbandoned, op)
	case StateDenied:
		return answered(Denied, op.Reason, op)
	case StateCancelled:
		if superseded(op) {
			return followed(op)
		}
		return answered(Denied, ReasonCancelled, op)
	}
	if guard("a", op, cause{at: q.now}) == "" {
		return ruling{act: actPropose, decision: AwaitingApproval, reason: ReasonPending, op: op}
	}
	return answered(Expired, ReasonNeverRan, op)
}

func replay(q inquiry, op *Operation) ruling {
	r := answered(Replay, ReasonStored, op)
	switch {
	case len(op.Result) == 0:
		r.reason = ReasonResultDiscarded
	case q.joined[op.ID]:
		r.reason = ReasonJoined
	}
	return r
}

// decideRetry answers the repeat of a retryable failure.
func decideRetry(q inquiry, op *Operation) ruling {
	switch {
	case !op.DispatchBy.IsZero() && !q.now.Before(op.DispatchBy):
		return answered(Failed, ReasonTooOld, op)
	case q.joined[op.ID], q.arrived.Before(op.SettledAt):
		return answered(Failed, op.Reason, op)
	case q.now.Before(op.RetryAt):
		r := answered(Failed, ReasonRetryLater, op)
		r.retryAfter = op.RetryAt.Sub(q.now)
		return r
	}
	return beginExisting(q, op)
}

// mayRunAgain is note c: from uncertain only an idempotent tool with no later
// operation of its matter, or the same bytes under a provider key that the
// provider still remembers.
func mayRunAgain(q inquiry, op *Operation) bool {
	if op.NoMoreAttempts || !op.DispatchBy.IsZero() && !q.now.Before(op.DispatchBy) {
		return false
	}
	if op.Effect == EffectIdempotent && q.rule.Effect == EffectIdempotent {
		return !q.view.Later
	}
	return presentable(op, q.rule, q.now, q.watched)
}

func uncertainReason(op *Operation) Reason {
	if op.Status == StatusUncertain {
		return op.Reason
	}
	return ReasonOutcomeUnknown
}

// checkContinuation refuses answers to a question that was not asked, or was
// answered otherwise.
func checkContinuation(q inquiry, op *Operation) (ruling, bool) {
	if !q.continues || q.state == op.RequestState && op.Status == StatusAwaitingInput {
		return ruling{}, false
	}
	if q.state == op.AnsweredState && q.inputs == op.Inputs {
		return ruling{}, false
	}
	if op.Status == StatusAwaitingInput || op.AnsweredState != "" {
		return answered(Conflict, ReasonInputDiffers, op), true
	}
	return ruling{}, false
}

// beginExisting begins another attempt of a record, if the caller may and the
// other operations allow it.
func beginExisting(q inquiry, op *Operation) ruling {
	handedOver := q.principal.Actor != op.Actor
	if handedOver && !q.provenance.explicit() || !q.principal.May(RightCall) {
		return shownStatus(op)
	}
	return decideBegin(q, op, nil)
}

// shownStatus answers with where an operation stands when the caller may look
// at it but not begin it.
func shownStatus(op *Operation) ruling {
	switch op.Status {
	case StatusFailed:
		return answered(Failed, op.Reason, op)
	case StatusUncertain, StatusExecuting:
		return answered(Uncertain, uncertainReason(op), op)
	case StatusAwaitingInput:
		return answered(InProgress, ReasonAwaitingInput, op)
	case StatusExpired:
		return answered(Expired, ReasonNeverRan, op)
	}
	return answered(Denied, ReasonForbidden, op)
}
