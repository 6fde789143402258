// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

// decideNew answers a call whose key names nothing yet, or whose derived key
// opens a new generation after supersedes.
func decideNew(q inquiry, supersedes *Operation) ruling {
	if !q.principal.May(RightCall) {
		return answered(Denied, ReasonForbidden, nil)
	}
	if q.claimed != "" && q.claimed != q.fingerprints[q.current] {
		return answered(Denied, ReasonFingerprintMismatch, nil)
	}
	return decideBegin(q, nil, supersedes)
}

// decideBegin is what every begin passes, in this order: the rules in force,
// what observe mode has sent beside the operation, twins, quarantine, consent. Limits and budgets are checked by the
// Runtime, which keeps their counters. op is nil for a new operation.
func decideBegin(q inquiry, op, supersedes *Operation) ruling {
	r := decideBeginning(q, op)
	if r.op == nil || r.twin {
		r.supersedes = supersedes
	}
	return r
}

func decideBeginning(q inquiry, op *Operation) ruling {
	if q.view.Active != "" && q.view.Active != q.rule.Hash {
		return held(op, Denied, ReasonPolicyOutdated)
	}
	if op != nil && q.ranBeside.holds(op, q.rule.Effect) {
		r := held(op, Uncertain, ReasonTwinUnresolved)
		r.text = q.ranBeside.text + "; nothing was sent now: " + besideRemedy(op)
		return r
	}
	r := decideTwins(q, op)
	if r.act != actBegin || r.op != op {
		return r
	}
	if q.facts.Quarantined {
		return held(op, Denied, ReasonQuarantined)
	}
	if consentMissing(q, op) {
		if op != nil && op.Status == StatusUncertain {
			return held(op, Uncertain, uncertainReason(op))
		}
		if op != nil && op.Status == StatusAwaitingInput {
			return held(op, Denied, ReasonApprovalInvalid)
		}
		r.act, r.decision, r.reason = actPropose, AwaitingApproval, ReasonPending
	}
	return r
}

// decideWaiting answers a call whose operation waits for a person: the
// proposal is made again when rules or definition have changed since, and a
// consent that came with the call is judged.
func decideWaiting(q inquiry, op *Operation) ruling {
	pending := answered(AwaitingApproval, ReasonPending, op)
	mine := q.principal.Actor == op.Actor || q.provenance.explicit()
	if !mine || !q.principal.May(RightCall) {
		return pending
	}
	changed := op.RulesHash != q.rule.Hash || op.Definition != q.facts.Definition
	outdated := q.view.Active != "" && q.view.Active != q.rule.Hash
	if changed && (q.needsApproval || !q.checked) && !outdated && !q.facts.Quarantined {
		return ruling{act: actPropose, decision: AwaitingApproval, reason: ReasonPending, op: op}
	}
	if q.consents {
		return ruling{act: actConsent, decision: AwaitingApproval, reason: ReasonPending, op: op}
	}
	return pending
}

// consentMissing reports whether a person must approve first: the rule asks
// for it and the operation carries no consent to these rules, this definition
// and the bytes that would be sent that is still valid.
func consentMissing(q inquiry, op *Operation) bool {
	if !q.needsApproval {
		return false
	}
	if op == nil || op.Approval == nil || op.AuthorizedAt.IsZero() || len(op.Arguments) == 0 {
		return true
	}
	return op.RulesHash != q.rule.Hash || op.Definition != q.facts.Definition || !q.now.Before(op.Approval.ExpiresAt)
}

// held is a begin that did not take place; the operation stays as it is.
func held(op *Operation, decision Decision, reason Reason) ruling {
	return answered(decision, reason, op)
}
