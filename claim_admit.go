// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "fmt"

// admit turns a decision into a change.
func (c *claim) admit(view View, nonce string) (ruling, Change, error) {
	var change Change
	aware := c.ranBeside.enough(view.Operation)
	if lapsed, events, err := lapse(view.Operation, view.Now, c.rule.Retention); err != nil {
		return ruling{}, Change{}, err
	} else if lapsed != nil {
		change.Put = append(change.Put, lapsed)
		change.Events = append(change.Events, events...)
		view.Operation = lapsed
	}
	q := c.inquiry(view)
	r := decide(q)
	if !aware && r.mayBegin() {
		return ruling{}, Change{}, errLookAgain
	}
	if r.act == actConsent {
		var given *Operation
		var told Event
		var err error
		if given, told, r, err = c.consent(view, r.op); err != nil {
			return ruling{}, Change{}, err
		}
		if given != nil {
			change.Put = []*Operation{given}
			change.Events = append(change.Events, told)
			view.Operation = given
			q = c.inquiry(view)
			q.consents = false
			r = decide(q)
		}
	}
	r = c.letRun(view, r)
	unlimited := r.wouldBe != "" && r.reason != ReasonPending
	if unlimited {
		// Its refusal comes before what the limits say; but a begin counts.
		c.takeLimits(q.now, c.fingerprints[c.ruled.rules])
	}
	if r.act == actPropose && c.rule.Mode == ModeObserve {
		// It runs now. A proposal would be run once more when a person consents.
		r.act = actAnswer
	}
	if r.act == actPropose {
		r = c.consentForNothing(view, r)
	}
	if r.act == actBegin && r.alias {
		// The twin came without its snapshot; as an alias of it the call finds
		// it whole.
		r.act = actAgain
	}
	if (r.act == actBegin || r.act == actPropose) && !unlimited {
		supersedes := r.supersedes
		r = c.restrict(q, r)
		if r.op == nil {
			r.supersedes = supersedes
		}
		r = c.letRun(view, r)
	}
	if r.act == actWait && (c.left || !c.patient() || c.observes()) {
		r.act = actAnswer
	}
	switch {
	case r.alias && r.act != actWait: // who waits is answered otherwise, and that is bound
		change.Bind = c.bindings(r.op, 1)
	case c.foundByLowerKey(view):
		change.Bind = c.bindings(view.Operation, 1)
	case view.Operation != nil && c.bindsFree(r):
		change.Bind = c.bindings(view.Operation, 1)[1:]
	}
	if r.act == actBegin && c.caller.Err() != nil {
		return ruling{}, Change{}, errCallerLeft
	}
	if r.act == actBegin || r.act == actPropose || r.policyRefused() {
		next, event, err := c.move(q, r, nonce)
		if err != nil {
			return ruling{}, Change{}, err
		}
		if r.op == nil {
			change.Bind = c.bindings(next, next.Key.Generation)[1:]
			if c.rule.Planting != nil {
				change.Bind = append(change.Bind, Binding{markerKey(c.planter.marks(next.ID, "").Marker), next.ID})
			}
		}
		change.Put = []*Operation{next}
		change.Events = append(change.Events, event)
		if r.wouldBe != "" {
			change.Events = append(change.Events, c.wouldHaveBeen(r, next, view))
		}
		r.op = next
	}
	c.rt.number(change.Events, view)
	return r, change, nil
}

// foundByLowerKey reports whether only a lower carrier, or an earlier name of
// the same, was known: the higher one then becomes an alias.
func (c *claim) foundByLowerKey(view View) bool {
	return view.Operation != nil && len(c.named.keys) > 1 &&
		(c.named.provenance == ProvenanceCallID || c.named.provenance == ProvenanceRuntime) && view.Found.Text != c.named.keys[0].Text
}

// policyRefused: policy now refuses an operation that was authorized.
func (r ruling) policyRefused() bool {
	return r.act == actAnswer && r.reason == ReasonPolicyChanged && r.op.State() == StateAuthorized
}

// restrict applies what stands between a permitted begin and the attempt:
// schema, policy, rules that are gone, and the limits.
func (c *claim) restrict(q inquiry, r ruling) ruling {
	if late := c.deadline(q, r.op); late != nil {
		return *late
	}
	no := func(reason Reason, text string) ruling {
		return ruling{decision: Denied, reason: reason, op: r.op, text: text}
	}
	for _, hash := range q.view.OtherRules {
		if _, known := q.fingerprints[hash]; !known {
			return no(ReasonFingerprintUnverifiable, "an unresolved operation of this tool carries rules that the ledger no longer has")
		}
	}
	if r.op == nil && c.invalid != "" {
		return no(ReasonBadArguments, c.invalid)
	}
	if c.refusedText != "" {
		if r.op == nil {
			return no(ReasonForbidden, c.refusedText)
		}
		return no(ReasonPolicyChanged, c.refusedText)
	}
	if limited := c.takeLimits(q.now, c.fingerprints[c.ruled.rules]); limited != nil {
		limited.op = r.op
		return *limited
	}
	if text := c.otherRevision(r); text != "" {
		return no(ReasonRevisionChanged, text)
	}
	return c.fit(q, r)
}

// deadline answers a call whose own deadline for dispatch has passed, nil while
// it has not: nothing is sent for it, and an operation that is there stands
// where it stood.
func (c *claim) deadline(q inquiry, op *Operation) *ruling {
	by := c.call.ExpiresAt
	if by.IsZero() || q.now.Before(by) {
		return nil
	}
	r := answered(Expired, ReasonNeverRan, nil)
	switch {
	case op == nil:
	case op.State() == StateAwaitingApproval:
		r = answered(AwaitingApproval, ReasonPending, op)
	default:
		r = shownStatus(op)
	}
	r.text = fmt.Sprintf("the call's own deadline, %s, has passed: nothing was sent by it", stamp(by))
	return &r
}
