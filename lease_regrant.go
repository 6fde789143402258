// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"fmt"
)

// Evidence is the event of something that was said about an attempt and
// changed nothing.
const Evidence EventName = "evidence"

// Regrant returns the grant of an attempt that was begun by a call with
// ManualLease, to the actor that made the call: to settle or renew it from
// another process, or after a restart. token is the call's ClaimToken; an
// empty one is not compared.
//
// The attempt need not be the current one: a late outcome is recorded too. It
// returns ErrNotFound for what the principal may not see and for attempts that
// were never begun, and ErrForbidden where another actor, another token, or
// nobody but its own process may settle the attempt.
func (rt *Runtime) Regrant(ctx context.Context, who Principal, id OperationID, attempt int, token string) (*Grant, error) {
	view, err := rt.store.Load(ctx, Scope{Tenant: who.Tenant, ID: id})
	if err != nil {
		return nil, err
	}
	op := view.Operation
	if op == nil || !who.reads(op.Actor) {
		return nil, fmt.Errorf("%s: %w", id, ErrNotFound)
	}
	a := op.attempt(attempt)
	if a == nil {
		return nil, fmt.Errorf("%s attempt %d: %w: %d were begun", id, attempt, ErrNotFound, len(op.Attempts))
	}
	if !a.heldBy(who.Actor, token) {
		return nil, fmt.Errorf("%s attempt %d: %w: it was claimed by another actor, or under another claim token", id, attempt, ErrForbidden)
	}
	grant := &Grant{
		Operation: op.ID, Tenant: op.Tenant, Attempt: a.Number, SendBy: a.SendBy, LeaseExpiresAt: op.LeaseExpiresAt,
		Arguments: op.Arguments, ProviderKey: a.ProviderKey, Marks: a.planted(), Rule: rt.ruleOf(op),
		observed: context.WithoutCancel(ctx), nonce: a.Nonce, begun: startWatch(rt.clock), started: view.Now,
		call: Call{Principal: who, Tool: op.Tool, Arguments: op.Arguments, Meta: op.Meta, ManualLease: true, ClaimToken: token},
	}
	grant.answer = Answer{
		Decision: Execute, Operation: op, Effective: op.EffectiveStatus(view.Now), Received: op.Fingerprint,
		Principal: who, Rule: grant.Rule, At: rt.clock.Now(),
	}
	return grant, nil
}

// Note keeps what was said about a granted attempt and contradicts what is
// recorded of it, such as a refusal after a success: as evidence, durably,
// changing nothing.
func (rt *Runtime) Note(ctx context.Context, g *Grant, out Outcome) error {
	if g.Unrecorded {
		return nil
	}
	now := rt.clock.Now()
	event := Event{
		ID: newEventID(now, rt.random), Tenant: g.Tenant, OperationID: g.Operation, At: now, Name: Evidence,
		Actor: g.call.Principal.Actor, Attempt: g.Attempt, Reason: out.Reason, Tool: g.call.Tool, Data: out.reported(),
	}
	if op := g.answer.Operation; op != nil {
		event.Version = op.Version
	}
	if err := rt.store.Append(ctx, []Event{event}, Durable); err != nil {
		return err
	}
	rt.observer.Recorded(ctx, event)
	return nil
}

// claimDigests say whose an attempt is whose caller leads its own lease: its
// actor, and the actor with the claim token.
func claimDigests(who Actor, token string) (claimant, claim Digest) {
	return digestOf([]byte(who)), digestOf([]byte(string(who) + "\x00" + token))
}

// heldBy reports whether the attempt was claimed by the actor, and under the
// token unless that is empty.
func (a Attempt) heldBy(who Actor, token string) bool {
	claimant, claim := claimDigests(who, token)
	return a.Claimant == claimant && (token == "" || a.Claim == claim)
}

// claimedAlready reports whether the live attempt of op was begun by this very
// claim, whose answer its caller has not got.
func (q inquiry) claimedAlready(op *Operation) bool {
	current := op.Current()
	return q.claimToken != "" && current != nil && current.heldBy(q.principal.Actor, q.claimToken)
}
