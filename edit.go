// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/deed-run/deed/internal/canon"
)

// EditAndApprove replaces the proposal that waits under id by one with other
// arguments, and consents to that: the operation becomes cancelled as
// superseded, and the one returned takes its place under an id and a digest of
// its own. The caller's key answers as the new one, for the arguments that it
// sent and for the edited ones. With a quorum the new one waits for the others.
//
// It needs the right to approve and names the digest that the person looked
// at; see [Runtime.Approve] for its errors. The marks by which look-ups find an
// operation belong to one: those of the old one are taken out of the edited
// arguments where they stand, and the new one is given its own. Calls whose marks
// cannot be taken out again, see [Planting.Strip], are refused, and so are
// arguments in which [Options].CheckEdited finds something wrong, or which it could
// not check ([ErrUnchecked]).
func (rt *Runtime) EditAndApprove(ctx context.Context, who Principal, id OperationID, digest Digest, arguments []byte, reason string) (*Operation, error) {
	e, err := rt.edit(ctx, who, id, arguments)
	if err != nil {
		return nil, err
	}
	if rt.checkEdited != nil {
		wrong, err := rt.checkEdited(ctx, e.op, e.arguments)
		if err != nil {
			return nil, fmt.Errorf("%s was not edited: %w: %w", id, ErrUnchecked, err)
		}
		if wrong != "" {
			return nil, fmt.Errorf("%s was not edited: %w: by the input schema of %s: %s", id, ErrArguments, e.tool, wrong)
		}
	}
	var next *Operation
	err = rt.writeKnowing(ctx, Scope{Tenant: who.Tenant, ID: id}, func(view View, known ranBeside) (Change, error) {
		op, events, err := rt.proposal(who, id, view)
		if err == nil {
			err = op.intact()
		}
		if err != nil {
			return Change{}, err
		}
		w := word{event: EventApproved, approver: who.Actor, digest: digest, reason: reason, at: view.Now, ranBeside: known}
		if no := w.judge(op); no != nil {
			no.Event = EventSuperseded
			return Change{}, no
		}
		change := Change{Events: events}
		next, err = e.replace(op, w, &change)
		return change, err
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// edit is what an edited operation is made of.
type edit struct {
	rt   *Runtime
	op   *Operation
	tool Tool
	rule Rule
	// planter marks the edited arguments, which have no marks yet.
	planter     *planter
	arguments   []byte
	fingerprint Fingerprint
	matter      Matter
}

// edit computes what the edited call is, under the rules of the operation that
// it replaces, which must be those of this process.
func (rt *Runtime) edit(ctx context.Context, who Principal, id OperationID, arguments []byte) (*edit, error) {
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	op, err := rt.Get(ctx, who, id)
	if err != nil {
		return nil, err
	}
	if !who.May(RightApprove) {
		return nil, fmt.Errorf("%s: %w: it takes the right %q", id, ErrForbidden, RightApprove)
	}
	rule := rt.policy.Rule(op.Tool, ToolFacts{Definition: op.Definition, UpstreamIdentity: op.UpstreamIdentity}).complete()
	ruled, err := rt.ruledBy(rule)
	if err != nil {
		return nil, err
	}
	if ruled.hash != op.RulesHash || ruled.rules != op.FingerprintRules {
		return nil, &RefusedError{Operation: op, Event: EventSuperseded, Hint: fmt.Sprintf("this process has other rules for %s than it was proposed under: edit it where they are in force, or deny it", op.Tool)}
	}
	planter, err := rt.planterFor(ctx, op.Tenant, rule)
	if err != nil {
		return nil, err
	}
	bare, arguments, err := planter.strip(op, arguments)
	if err != nil {
		return nil, err
	}
	if rule.Deny != nil {
		if text := rule.Deny(arguments, Principal{Tenant: op.Tenant, Actor: op.Actor, Rights: who.Rights}); text != "" {
			return nil, fmt.Errorf("%s was not edited: %w: policy refuses the edited call: %s", op.ID, ErrForbidden, text)
		}
	}
	effect, err := effectOf(op, bare, arguments, ruled.program)
	if err != nil {
		return nil, fmt.Errorf("%s was not edited: %w: %w", op.ID, ErrArguments, err)
	}
	fingerprint, err := ruled.program.Fingerprint(string(op.Tool), effect)
	if err != nil {
		return nil, fmt.Errorf("%s was not edited: %w: %w", op.ID, ErrArguments, err)
	}
	return &edit{
		rt: rt, op: op, tool: op.Tool, rule: rule, planter: planter, arguments: append([]byte(nil), arguments...), fingerprint: Fingerprint(fingerprint),
		matter: matterOf(rule.Matter, arguments, ruled.program.Fact),
	}, nil
}

// keyArgument is the name under which tools take a key of their own.
const keyArgument = "idempotency_key"

// strip takes the marks of an operation out of its snapshot and out of the
// arguments that a person made of that. It returns both as a caller would send
// them.
func (p *planter) strip(op *Operation, edited []byte) (bare, arguments []byte, err error) {
	if p == nil || p.rule.Planting == nil {
		return op.Arguments, edited, nil
	}
	if p.rule.Planting.Strip == nil {
		return nil, nil, &RefusedError{Operation: op, Event: EventSuperseded, Hint: fmt.Sprintf("calls of %s carry marks that belong to one operation and cannot be taken out again, so that they cannot be edited: deny it and say in the reason what to change", op.Tool)}
	}
	marks := p.marks(op.ID, p.providerKey(op.ID, op.Attempts))
	if bare, err = p.rule.Planting.Strip(op.Arguments, marks); err == nil {
		arguments, err = p.rule.Planting.Strip(edited, marks)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s was not edited: %w: %w", op.ID, ErrArguments, err)
	}
	for _, mark := range []string{marks.Marker, marks.ClientID, marks.ProviderKey} {
		if mark != "" && bytes.Contains(arguments, []byte(mark)) {
			return nil, nil, fmt.Errorf("%s was not edited: %w: they hold its mark %s in another place: leave it where it was, or out", op.ID, ErrArguments, mark)
		}
	}
	return bare, arguments, nil
}

// effectOf leaves out of the edited arguments what was left out of the
// operation's fingerprint beside its rules: the tool's own key. bare are the
// operation's own arguments without marks.
func effectOf(op *Operation, bare, arguments []byte, program *canon.Program) ([]byte, error) {
	if f, err := program.Fingerprint(string(op.Tool), bare); err == nil && Fingerprint(f) == op.Fingerprint {
		return arguments, nil
	}
	rest, _, _, err := canon.Without(bare, keyArgument)
	if err != nil {
		return nil, err
	}
	if f, err := program.Fingerprint(string(op.Tool), rest); err != nil || Fingerprint(f) != op.Fingerprint {
		return nil, errors.New("its fingerprint cannot be computed again from its arguments")
	}
	effect, _, _, err := canon.Without(arguments, keyArgument)
	return effect, err
}

// replace supersedes op by the edited operation with the consent in it.
func (e *edit) replace(op *Operation, w word, change *Change) (*Operation, error) {
	id := newOperationID(w.at, e.rt.random)
	arguments, err := e.planter.plant(e.arguments, id, e.planter.providerKey(id, nil))
	if err != nil {
		return nil, fmt.Errorf("%s was not edited: %w: %w", op.ID, ErrArguments, err)
	}
	draft := &Operation{
		ID: id, Tenant: op.Tenant, Actor: op.Actor,
		Key: Key{
			Actor: op.Key.Actor, Family: op.Key.Family, Text: "edit:" + newNonce(e.rt.random), Generation: 1, Provenance: ProvenanceNone,
		},
		Tool: op.Tool, Effect: op.Effect, Fingerprint: e.fingerprint, FingerprintRules: op.FingerprintRules, Matter: e.matter,
		UpstreamIdentity: op.UpstreamIdentity, Definition: op.Definition, RulesHash: op.RulesHash, PolicyRevision: op.PolicyRevision,
		Meta: op.Meta, Supersedes: op.ID,
		CreatedAt: w.at, ProposedAt: w.at, ExpiresAt: op.ExpiresAt, DispatchBy: w.at.Add(e.rule.MaxAge),
	}
	draft.Arguments, draft.PayloadDigest = freeze(op.Tool, arguments)
	if !op.ExpiresAt.IsZero() && op.ExpiresAt.Before(draft.DispatchBy) {
		draft.DispatchBy = op.ExpiresAt
	}
	gone, told, err := apply(op, cause{
		event: EventSuperseded, at: w.at, actor: w.approver, by: string(w.approver), message: w.reason,
		successor: draft.ID, retain: e.rule.Retention,
	})
	if err != nil {
		return nil, err
	}
	told.Data = note(w.reason)
	wish := op.Approval.clone()
	wish.ID, wish.Approvers, wish.Votes, wish.AskedAt = "", nil, nil, w.at
	wish.ExpiresAt = w.at.Add(e.rule.ApprovalExpires)
	k := cause{
		event: EventProposed, at: w.at, actor: w.approver, approval: wish, dispatchBy: draft.DispatchBy,
		rulesHash: op.RulesHash, definition: op.Definition,
	}
	wish.Digest = proposalDigest(draft, k, ToolFacts{UpstreamIdentity: op.UpstreamIdentity})
	proposed, asked, err := apply(draft, k)
	if err != nil {
		return nil, err
	}
	next, given, err := w.apply(proposed, e.rule.Retention)
	if err != nil {
		return nil, err
	}
	change.Put = []*Operation{gone, next}
	change.Events = append(change.Events, told, asked, given)
	if e.rule.Planting != nil {
		change.Bind = append(change.Bind, Binding{markerKey(e.planter.marks(id, "").Marker), id})
	}
	return next, nil
}
