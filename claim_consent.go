// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// wantsConsent reports whether the rule holds this call for a person. A
// condition that fails wants one.
func (c *claim) wantsConsent(arguments []byte) (wants bool) {
	defer func() {
		if recover() != nil {
			wants = true
		}
	}()
	who := c.principal()
	switch {
	case c.rule.Approval == nil:
		return c.rule.NeedsApproval != nil && c.rule.NeedsApproval(arguments, who)
	case c.rule.Approval.When == nil:
		return true
	}
	return c.rule.Approval.When(c.withDefaults(arguments), who)
}

// otherSnapshot reports whether an attempt of op would send bytes that the
// conditions have not judged: the fingerprint may leave out what they look at.
func (c *claim) otherSnapshot(op *Operation) bool {
	return op != nil && len(op.Arguments) > 0 && c.fingerprints[op.FingerprintRules] == op.Fingerprint &&
		!bytes.Equal(op.Arguments, c.call.Arguments) && !bytes.Equal(op.Arguments, c.snapshot)
}

// judgeSnapshot asks the conditions about the bytes that an attempt of op would
// send. Either they or the caller's own are enough to refuse or to hold it.
func (c *claim) judgeSnapshot(op *Operation) {
	if !c.otherSnapshot(op) {
		return
	}
	c.snapshot = op.Arguments
	if c.rule.Deny != nil {
		c.refusedText = firstText(c.refusedText, c.rule.Deny(op.Arguments, c.principal()))
	}
	c.needsApproval = c.needsApproval || c.wantsConsent(op.Arguments)
}

// withDefaults are the arguments as the tool will understand them.
func (c *claim) withDefaults(arguments []byte) []byte {
	if c.call.Defaults == nil {
		return arguments
	}
	return c.call.Defaults(arguments)
}

// proposes is the wish for a consent that a proposal carries.
func (r Rule) proposes(op *Operation, now time.Time) *Approval {
	wish := &Approval{
		ExpiresAt: now.Add(r.ApprovalExpires), AskedAt: now, AskedBy: op.Actor, AskAgain: defaultAskAgain,
		Run: RunOnCall, Quorum: 1,
	}
	if a := r.Approval; a != nil {
		wish.Quorum, wish.MayApprove, wish.Self = max(1, a.Quorum), a.Approvers, a.Self
		if !a.OnCall {
			wish.Run = RunOnApproval
		}
	}
	return wish
}

// consent judges the consent that came with a call against the proposal that
// waits, and counts it. It returns the operation with the consent, or the
// refusal of one that does not count.
func (c *claim) consent(view View, op *Operation) (*Operation, Event, ruling, error) {
	given := c.call.Consent
	w := word{
		event: EventApproved, approver: given.Approver, digest: given.Digest, id: given.ID, at: view.Now,
		consumer: view.ConsentBy, known: c.consumer, ranBeside: c.ranBeside,
	}
	if !given.ExpiresAt.IsZero() && !view.Now.Before(given.ExpiresAt) {
		return nil, Event{}, invalidConsent(op, fmt.Sprintf("the consent ended at %s", stamp(given.ExpiresAt))), nil
	}
	if given.ID == "" {
		return nil, Event{}, invalidConsent(op, "the consent has no id, so that nobody could tell whether it was spent"), nil
	}
	if no := w.judge(op); no != nil {
		if no.Problem == ConsentRepeated {
			return nil, Event{}, answered(AwaitingApproval, ReasonPending, op), nil
		}
		r := invalidConsent(op, no.text)
		return nil, Event{}, r, nil
	}
	next, event, err := w.apply(op, c.rule.Retention)
	return next, event, ruling{}, err
}

// findConsumer looks up what the consent was spent for, if the caller may know.
func (c *claim) findConsumer(ctx context.Context) error {
	view, err := c.rt.store.Load(ctx, Scope{Tenant: c.call.Principal.Tenant, Consent: c.call.Consent.ID})
	if err != nil || view.ConsentBy == "" {
		return err
	}
	by, err := c.rt.store.Load(ctx, Scope{Tenant: c.call.Principal.Tenant, ID: view.ConsentBy})
	if err == nil && by.Operation != nil && c.principal().reads(by.Operation.Actor) {
		c.consumer = view.ConsentBy
	}
	return err
}

// consentForNothing looks at a consent that came with a call whose proposal is
// only being made: it cannot be about it. One that was spent is refused.
func (c *claim) consentForNothing(view View, r ruling) ruling {
	if c.call.Consent == nil {
		return r
	}
	if by := view.ConsentBy; by != "" && (r.op == nil || r.op.ID != by) {
		return invalidConsent(r.op, spentFor(c.call.Consent.ID, by, c.consumer))
	}
	r.text = "the consent that came with the call is for another proposal; this one has its own digest"
	return r
}

func invalidConsent(op *Operation, text string) ruling {
	r := answered(Denied, ReasonApprovalInvalid, op)
	r.text = text
	return r
}
