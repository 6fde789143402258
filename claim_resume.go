// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"fmt"
)

// CallOf returns the call that runs a recorded operation again as it was
// frozen: from authorized and from a retryable failure, and from uncertain
// only where a repeat of the caller may run too (the same bytes under a
// provider key, or an idempotent tool). It needs the right to resolve. The
// caller fills in Facts and runs it with [Runtime.Do] or [Runtime.Claim]; the
// operation stays its actor's, the events name who ran it.
func (rt *Runtime) CallOf(ctx context.Context, who Principal, id OperationID) (Call, error) {
	op, err := rt.Get(ctx, who, id)
	if err != nil {
		return Call{}, err
	}
	if !who.May(RightResolve) {
		return Call{}, fmt.Errorf("%s: %w: it takes the right %q", id, ErrForbidden, RightResolve)
	}
	return Call{Principal: who, Tool: op.Tool, Arguments: op.Arguments, Meta: op.Meta, Resume: id}, nil
}

// CallOfAuthorized is CallOf for the worker that runs what a person has
// approved. A *RefusedError says that the operation is not authorized.
func (rt *Runtime) CallOfAuthorized(ctx context.Context, tenant Tenant, id OperationID) (Call, error) {
	view, err := rt.store.Load(ctx, Scope{Tenant: tenant, ID: id})
	if err != nil {
		return Call{}, err
	}
	op := view.Operation
	if op == nil {
		return Call{}, fmt.Errorf("%s: %w", id, ErrNotFound)
	}
	if op.EffectiveState(view.Now) != StateAuthorized {
		return Call{}, &RefusedError{Operation: op, Event: EventBegun, Hint: "only an authorized operation is run by itself"}
	}
	who := Principal{Tenant: tenant, Actor: approvalRunner, Rights: []Right{RightCall, RightRead}}
	return Call{Principal: who, Tool: op.Tool, Arguments: op.Arguments, Meta: op.Meta, Resume: id, authorized: true}, nil
}

// approvalRunner is named in the events of operations that were run because
// they were approved.
const approvalRunner Actor = "approval"

// resume prepares a call that names its operation: identity, matter and bytes
// are those of the record, and it acts for the record's actor.
func (c *claim) resume(ctx context.Context) (Answer, bool) {
	view, err := c.rt.store.Load(ctx, Scope{Tenant: c.call.Principal.Tenant, ID: c.call.Resume})
	if err != nil {
		return c.storeFailed(err), true
	}
	op := view.Operation
	who := c.call.Principal
	switch {
	case op == nil, !who.reads(op.Actor):
		return c.denial(ctx, ReasonNotYours, ""), true
	case !who.May(RightResolve) && !c.call.authorized && !answersOwn(who, c.call, op.EffectiveState(view.Now), op.Actor):
		return c.denial(ctx, ReasonForbidden, "running a recorded operation takes the right to resolve"), true
	case c.call.authorized && op.EffectiveState(view.Now) != StateAuthorized:
		return c.denial(ctx, ReasonForbidden, "it is not authorized any more"), true
	case !c.rule.Mutates():
		return c.denial(ctx, ReasonForbidden, "the tool is read-only now; call it"), true
	case op.Tool != c.call.Tool:
		return c.denial(ctx, ReasonBadArguments, fmt.Sprintf("%s is an operation of %s", op.ID, op.Tool)), true
	case len(op.Arguments) == 0:
		return c.denial(ctx, ReasonBadArguments, "retention has taken what would be sent; the caller's own repeat carries it"), true
	}
	c.resumed = op
	c.call.Arguments, c.call.Meta, c.matter = op.Arguments, op.Meta, op.Matter
	c.named = named{keys: []Key{op.Key}, provenance: op.Key.Provenance}
	c.fingerprints = map[Digest]Fingerprint{op.FingerprintRules: op.Fingerprint}
	if _, known := c.fingerprints[c.ruled.rules]; !known {
		if c.marked() {
			return c.denial(ctx, ReasonFingerprintUnverifiable, "the fingerprint rules have changed since marks were written into its bytes; the caller's own repeat can be compared"), true
		}
		fingerprint, err := c.fingerprint(c.ruled)
		if err != nil {
			return c.denial(ctx, ReasonBadArguments, err.Error()), true
		}
		c.fingerprints[c.ruled.rules] = fingerprint
	}
	return Answer{}, false
}

// answersOwn reports whether the call is the operation's own actor answering
// the question that its tool asked: no right but that to call is needed.
func answersOwn(who Principal, call Call, state State, owner Actor) bool {
	return call.Continuation != nil && state == StateAwaitingInput && who.Actor == owner && who.May(RightCall)
}

// marked reports whether the bytes at hand are not those of the caller, so
// that no other rules can make a fingerprint of them.
func (c *claim) marked() bool {
	return c.resumed != nil && c.rule.Planting != nil
}

// principal is whose rights and eyes decide: the caller, or the actor of the
// operation that is resumed.
func (c *claim) principal() Principal {
	if c.resumed == nil {
		return c.call.Principal
	}
	return Principal{Tenant: c.resumed.Tenant, Actor: c.resumed.Actor, Rights: []Right{RightCall, RightRead}}
}
