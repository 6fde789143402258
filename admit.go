// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deed-run/deed/internal/canon"
)

// transact decides inside the store's transaction and writes what the
// decision asks for: the last word, under the locks of key, fingerprint and
// matter.
func (c *claim) transact(ctx context.Context, scope Scope) (ruling, View, error) {
	if c.within != nil {
		return c.transactWithin(ctx, scope)
	}
	return c.transactOn(ctx, c.rt.store, scope, nil)
}

// transactor is the part of a Store that writes.
type transactor interface {
	Transact(ctx context.Context, scope Scope, change func(View) (Change, error)) (View, error)
}

// transactOn writes only a ruling that permit, when it is given, lets pass.
func (c *claim) transactOn(ctx context.Context, on transactor, scope Scope, permit func(ruling) error) (ruling, View, error) {
	var r ruling
	var written Change
	var unknown View
	nonce := newNonce(c.rt.random)
	view, err := on.Transact(ctx, scope, func(view View) (Change, error) {
		for _, hash := range rulesOf(view) {
			if _, known := c.fingerprints[hash]; !known && !c.gone[hash] {
				unknown = view
				return Change{}, errLookAgain
			}
		}
		if c.otherShare(view, scope) || c.otherSnapshot(view.Operation) {
			unknown = view
			return Change{}, errLookAgain
		}
		var err error
		c.begun = startWatch(c.rt.clock)
		r, written, err = c.admit(view, nonce)
		if err == nil && permit != nil {
			err = permit(r)
		}
		return written, err
	})
	if errors.Is(err, errLookAgain) {
		return ruling{}, unknown, err
	}
	if errors.Is(err, ErrCommitUnknown) {
		view, err = c.reread(ctx, scope, nonce)
	}
	if err != nil {
		return ruling{}, View{}, err
	}
	if on == c.within {
		c.within.events = written.Events
		return r, view, nil
	}
	c.rt.recorded(ctx, written.Events)
	return r, view, nil
}

// reread finds out what became of a commit whose acknowledgement was lost, by
// the nonce of the attempt: never assumed, neither way.
func (c *claim) reread(ctx context.Context, scope Scope, nonce string) (View, error) {
	view, err := c.rt.store.Load(ctx, scope)
	if err != nil {
		return View{}, err
	}
	if op := view.Operation; op != nil && op.Current() != nil && op.Current().Nonce == nonce {
		return view, nil
	}
	return View{}, fmt.Errorf("%w: the commit was not acknowledged and is not there", ErrUnavailable)
}

// admit turns a decision into a change.
func (c *claim) admit(view View, nonce string) (ruling, Change, error) {
	var change Change
	if lapsed, events, err := lapse(view.Operation, view.Now, c.rule.Retention); err != nil {
		return ruling{}, Change{}, err
	} else if lapsed != nil {
		change.Put = append(change.Put, lapsed)
		change.Events = append(change.Events, events...)
		view.Operation = lapsed
	}
	q := c.inquiry(view)
	r := decide(q)
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
	if r.act == actBegin || r.act == actPropose {
		r = c.restrict(q, r)
	}
	switch {
	case r.alias:
		change.Bind = c.bindings(r.op, 1)
	case c.foundByLowerKey(view):
		change.Bind = c.bindings(view.Operation, 1)
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
		r.op = next
	}
	c.rt.number(change.Events, view)
	return r, change, nil
}

// foundByLowerKey reports whether only a lower carrier was known: the higher
// one then becomes an alias.
func (c *claim) foundByLowerKey(view View) bool {
	return view.Operation != nil && len(c.named.keys) > 1 && c.named.provenance == ProvenanceCallID &&
		view.Found.Text != c.named.keys[0].Text
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

// sendBy is the moment after which nothing of an attempt that begins now may
// leave: the end of its lease, or a deadline of the caller's before that.
func (c *claim) sendBy(op *Operation, now time.Time) time.Time {
	by := now.Add(c.rule.Lease)
	for _, deadline := range []time.Time{c.call.ExpiresAt, op.ExpiresAt} {
		// One that has passed is that of an earlier call: an answer to a question,
		// and what a person reopened, may be sent after it.
		if deadline.After(now) && deadline.Before(by) {
			by = deadline
		}
	}
	return by
}

// move applies the begin or the proposal to its operation.
func (c *claim) move(q inquiry, r ruling, nonce string) (*Operation, Event, error) {
	op := r.op
	if op == nil {
		var err error
		if op, err = c.draft(q, r.supersedes); err != nil {
			return nil, Event{}, err
		}
	}
	k := cause{
		at: q.now, actor: c.call.Principal.Actor, lease: c.rule.Lease, input: c.rule.InputExpires,
		retain: c.rule.Retention, arrived: q.arrived, dispatchBy: c.dispatchBy(q.now),
	}
	if r.policyRefused() {
		k.event, k.reason, k.message, k.by = EventPolicyRefused, ReasonPolicyChanged, r.text, "policy"
		return apply(op, k)
	}
	if r.act == actPropose {
		k.event = EventProposed
		if s := op.State(); s == StateAwaitingApproval || s == StateAuthorized || s == StateFailedRetryable {
			k.event = EventProposalVoided
		}
		k.approval = c.rule.proposes(op, q.now)
		k.approval.Revision = c.revision
		k.rulesHash, k.definition = c.rule.Hash, c.call.Facts.Definition
		k.approval.Digest = proposalDigest(op, k, c.call.Facts)
		return apply(op, k)
	}
	if r.op != nil && len(op.Arguments) > 0 && payloadDigest(op.Tool, op.Arguments) != op.PayloadDigest {
		return nil, Event{}, fmt.Errorf("%s: %w: its recorded arguments are not those that were frozen as %s; nothing was sent; restore the ledger", op.ID, ErrDamaged, op.PayloadDigest)
	}
	k.event = EventBegun
	attempt := Attempt{
		Number: op.AttemptNumber() + 1, Nonce: nonce, Worker: c.rt.worker,
		UpstreamIdentity: c.call.Facts.UpstreamIdentity, LookedUpAt: c.rule.LookedUpAt,
		BegunAt: q.now, SendBy: c.sendBy(op, q.now),
	}
	if c.call.ManualLease {
		attempt.Claimant, attempt.Claim = claimDigests(c.call.Principal.Actor, c.call.ClaimToken)
	}
	attempt.ProviderKey = c.planter.providerKey(op.ID, op.Attempts)
	if c.rule.Planting != nil {
		marks := c.planter.marks(op.ID, attempt.ProviderKey)
		attempt.Marks = &marks
	}
	if op.State() == StateAwaitingInput {
		k.event = EventContinued
		attempt.Continues = op.AttemptNumber()
	}
	k.begin, k.again = &attempt, true
	k.booking = c.booking(op, q.now)
	next, event, err := apply(op, k)
	if err == nil && len(next.Arguments) == 0 {
		// Retention has taken the snapshot; the call carries an equal one.
		again, err := c.planter.plant(c.call.Arguments, op.ID, attempt.ProviderKey)
		if err != nil {
			return nil, Event{}, err
		}
		next.Arguments, next.PayloadDigest = freeze(c.rule.Tool, again)
	}
	if err == nil && k.event == EventContinued {
		next.Inputs = q.inputs
	}
	return next, event, err
}

// draft is a new operation that is not in the ledger yet.
func (c *claim) draft(q inquiry, supersedes *Operation) (*Operation, error) {
	id := newOperationID(q.now, c.rt.random)
	arguments, err := c.planter.plant(c.call.Arguments, id, c.planter.providerKey(id, nil))
	if err != nil {
		return nil, err
	}
	op := &Operation{
		ID: id, Tenant: c.call.Principal.Tenant, Actor: c.call.Principal.Actor,
		Key: c.named.keys[0], Tool: c.rule.Tool, Effect: c.rule.Effect,
		Fingerprint: q.fingerprints[q.current], FingerprintRules: q.current, Matter: c.matter,
		UpstreamIdentity: c.call.Facts.UpstreamIdentity, Definition: c.call.Facts.Definition,
		RulesHash: c.rule.Hash, PolicyRevision: c.rule.Revision,
		Meta: c.withRevision(c.meta()), CreatedAt: q.now, ProposedAt: q.now, ExpiresAt: c.call.ExpiresAt,
		DispatchBy: c.dispatchBy(q.now),
	}
	op.Arguments, op.PayloadDigest = freeze(op.Tool, arguments)
	op.Key.Generation = 1
	if supersedes != nil {
		op.Supersedes = supersedes.ID
		op.Key.Generation = supersedes.Key.Generation + 1
	}
	return op, nil
}

// meta joins the call's facts and the identities that did not name it.
func (c *claim) meta() map[string]string {
	if len(c.named.search) == 0 && len(c.traced) == 0 {
		return c.call.Meta
	}
	all := map[string]string{}
	for _, terms := range []map[string]string{c.call.Meta, c.named.search, c.traced} {
		for name, value := range terms {
			all[name] = value
		}
	}
	return all
}

func (c *claim) dispatchBy(now time.Time) time.Time {
	by := now.Add(c.rule.MaxAge)
	if !c.call.ExpiresAt.IsZero() && c.call.ExpiresAt.Before(by) {
		return c.call.ExpiresAt
	}
	return by
}

// bindings makes all keys of the call name the operation.
func (c *claim) bindings(op *Operation, generation int) []Binding {
	list := make([]Binding, 0, len(c.named.keys))
	for _, key := range c.named.keys {
		if key.Provenance == ProvenanceNone && op.Key.Provenance != ProvenanceNone {
			continue
		}
		key.Generation = generation
		list = append(list, Binding{Key: key, Operation: op.ID})
	}
	return list
}

// payloadDigest names the frozen material: the tool and the bytes it gets.
func payloadDigest(tool Tool, arguments []byte) Digest {
	_, digest := freeze(tool, arguments)
	return digest
}

// freeze copies the bytes that a tool gets, so that a caller may do with its own
// what it likes, and names them. The copy lies in what the digest is made of.
func freeze(tool Tool, arguments []byte) ([]byte, Digest) {
	material := make([]byte, 0, len(tool)+1+len(arguments))
	material = append(append(append(material, tool...), 0), arguments...)
	return material[len(tool)+1:], digestOf(material)
}

// effectArguments are the arguments without the tool's own key argument.
func (c *claim) effectArguments() ([]byte, error) {
	if c.call.KeyArgument == "" {
		return c.call.Arguments, nil
	}
	rest, _, _, err := canon.Without(c.call.Arguments, c.call.KeyArgument)
	return rest, err
}
