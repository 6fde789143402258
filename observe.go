// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "encoding/json"

// letRun begins what is only observed under a key that names nothing yet, whatever
// a person, a policy, a limit or another operation has to say to it: it is sent,
// and a repeat, in whatever mode, must find it.
func (c *claim) letRun(view View, r ruling) ruling {
	if !c.observes() || view.Operation != nil && r.supersedes == nil || r.op != nil && !r.twin {
		return r
	}
	switch r.act {
	case actAnswer, actPropose, actWait:
	default:
		return r
	}
	if !r.twin {
		switch r.reason {
		case ReasonPending, ReasonForbidden, ReasonQuarantined, ReasonLoop, ReasonRate, ReasonBudgetExceeded,
			ReasonRevisionChanged, ReasonPolicyOutdated, ReasonFingerprintUnverifiable:
		default:
			return r
		}
	}
	if c.stoodFor(view) {
		return r
	}
	r.act, r.wouldBe = actBegin, r.decision
	if r.twin && !r.hidden {
		r.similarTo = r.op.ID
	}
	r.op, r.twin, r.hidden, r.alias = nil, false, false, false
	return r
}

// stoodFor reports whether an equal operation that has not come to its end is the
// one that the call means, since no runtime gave it a key of its own: what is sent
// is then noted there.
func (c *claim) stoodFor(view View) bool {
	if c.named.provenance.explicit() {
		return false
	}
	for _, twin := range view.Twins {
		if !c.equals(twin) {
			continue
		}
		switch twin.EffectiveState(view.Now) {
		case StateExecuting, StateAwaitingApproval, StateAuthorized:
			return true
		case StateUncertain, StateAwaitingInput:
			if c.rule.Effect != EffectIdempotent {
				return true
			}
		}
	}
	return false
}

// wouldHaveBeen is the event that says what would have been decided in the place of
// a begin. It is written with the begin: it tells why nobody had consented. It names
// the attempt, so that it is not taken for another call beside the record.
func (c *claim) wouldHaveBeen(r ruling, op *Operation, view View) Event {
	return Event{
		Tenant: op.Tenant, OperationID: op.ID, Version: op.Version, Attempt: op.AttemptNumber(), At: view.Now, Name: EventName(r.wouldBe),
		Actor: c.call.Principal.Actor, Reason: r.reason, Tool: op.Tool, Fingerprint: op.Fingerprint, Data: wouldBeData(r.wouldBe),
	}
}

// wouldBeData marks the event of a decision that was only observed.
func wouldBeData(decision Decision) []byte {
	doc, err := json.Marshal(map[string]Decision{"would_be": decision})
	if err != nil {
		return nil
	}
	return doc
}
