// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"fmt"
	"time"
)

// move applies the begin or the proposal to its operation.
func (c *claim) move(q inquiry, r ruling, nonce string) (*Operation, Event, error) {
	op := r.op
	if op == nil {
		var err error
		if op, err = c.draft(q, r.supersedes, r.wouldBe != "" && c.fit(q, ruling{}).reason == ReasonBudgetExceeded); err != nil {
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
		if r.op != nil && len(op.Arguments) == 0 {
			op = op.clone()
			if err := c.refill(op); err != nil {
				return nil, Event{}, err
			}
		}
		k.approval = c.rule.proposes(op, q.now)
		k.approval.Revision = c.revision
		k.rulesHash, k.definition = c.rule.Hash, c.call.Facts.Definition
		k.approval.Digest = proposalDigest(op, k, c.call.Facts)
		return apply(op, k)
	}
	if r.op != nil {
		if err := op.intact(); err != nil {
			return nil, Event{}, fmt.Errorf("%w; nothing was sent; restore the ledger", err)
		}
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
	c.mark(&attempt, op, r.op != nil)
	if op.State() == StateAwaitingInput {
		k.event = EventContinued
		attempt.Continues = op.AttemptNumber()
	}
	k.begin, k.again = &attempt, true
	k.booking = c.booking(op, q.now)
	next, event, err := apply(op, k)
	if err == nil && len(next.Arguments) == 0 {
		if err := c.refill(next); err != nil {
			return nil, Event{}, err
		}
	}
	if err == nil && k.event == EventContinued {
		next.Inputs = q.inputs
	}
	return next, event, err
}

// refill freezes the call's bytes anew where retention has taken the snapshot: they
// have the same effect, and may differ in what its fingerprint leaves out.
func (c *claim) refill(op *Operation) error {
	again, err := c.planter.plant(c.call.Arguments, op.ID, c.planter.providerKey(op.ID, op.Attempts))
	if err == nil {
		op.Arguments, op.PayloadDigest = freeze(c.rule.Tool, again)
	}
	return err
}

// mark gives the attempt its provider key and marks; frozen: the snapshot may be of
// a time when the rule had others.
func (c *claim) mark(attempt *Attempt, op *Operation, frozen bool) {
	attempt.ProviderKey = c.planter.providerKey(op.ID, op.Attempts)
	if c.rule.Planting != nil {
		marks := c.planter.marks(op.ID, attempt.ProviderKey)
		if frozen && len(op.Arguments) > 0 {
			marks = c.planter.carried(op, marks)
			attempt.ProviderKey = marks.ProviderKey
		}
		if marks.Marker != "" || marks.ClientID != "" {
			attempt.Marks = &marks
		}
	}
	if attempt.ProviderKey != "" && c.rule.ProviderKey != nil {
		attempt.KeyPlace = c.rule.ProviderKey.Place
	}
}

// draft is a new operation that is not in the ledger yet.
func (c *claim) draft(q inquiry, supersedes *Operation, unfit bool) (*Operation, error) {
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
	if unfit {
		op.Meta = withMeta(op.Meta, metaUnfit, "true")
	}
	op.Arguments, op.PayloadDigest = freeze(op.Tool, arguments)
	op.Key.Generation = 1
	if supersedes != nil {
		op.Supersedes = supersedes.ID
		op.Key.Generation = supersedes.Key.Generation + 1
	}
	return op, nil
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

// intact returns a *DamagedError when the recorded arguments are not those that
// were frozen: nothing is sent, shown or consented to in their place.
func (op *Operation) intact() error {
	if len(op.Arguments) > 0 && payloadDigest(op.Tool, op.Arguments) != op.PayloadDigest {
		rest := *op
		rest.Arguments, rest.Result = nil, nil
		return &DamagedError{Operation: &rest}
	}
	return nil
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
