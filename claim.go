// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// Claim asks for the permission to run a call. It returns either an answer
// that needs nothing to be sent, with a nil grant, or a grant: then the
// caller sends exactly grant.Arguments, once, before grant.SendBy, and tells
// the Runtime what came of it with [Runtime.Settle].
//
// A duplicate of a live attempt waits for it, up to the rule's Wait, and
// shares its outcome. The error is ctx's own when the caller left while
// waiting, or ErrClosed; everything else is an answer.
func (rt *Runtime) Claim(ctx context.Context, call Call) (Answer, *Grant, error) {
	return rt.claim(ctx, call, nil)
}

// claim begins within a transaction of the caller's, if there is one.
func (rt *Runtime) claim(ctx context.Context, call Call, within *transaction) (Answer, *Grant, error) {
	if rt.closed.Load() {
		return Answer{}, nil, ErrClosed
	}
	ctx = rt.observer.CallStarted(ctx, call)
	c := &claim{rt: rt, call: call, arrived: firstTime(call.ArrivedAt, rt.clock.Now()), joined: map[OperationID]bool{}, gone: map[Digest]bool{}, within: within}
	if tracer, ok := rt.observer.(Tracer); ok {
		if parent := tracer.Traceparent(ctx); parent != "" {
			c.traced = map[string]string{MetaTraceparent: parent}
		}
	}
	answer, grant, err := c.run(ctx)
	if err != nil {
		rt.observer.CallAnswered(ctx, call, Answer{Principal: call.Principal, Rule: c.rule, At: rt.clock.Now()})
		return Answer{}, nil, err
	}
	answer.Principal, answer.Rule, answer.At = call.Principal, c.rule, rt.clock.Now()
	if grant == nil && c.rule.Mode == ModeObserve && c.rule.Mutates() && call.Resume == "" {
		answer.WouldBe = answer.Decision
		grant = &Grant{Tenant: call.Principal.Tenant, Arguments: bytes.Clone(call.Arguments), Unrecorded: true}
	}
	if grant != nil {
		grant.Rule, grant.call, grant.answer = c.rule, call, answer
		grant.observed = context.WithoutCancel(ctx)
		// The last step: whoever renews the lease reads the grant from then on.
		if !c.call.ManualLease && c.within == nil && !grant.Unrecorded {
			rt.leases.hold(grant)
		}
		return answer, grant, nil
	}
	rt.observer.CallAnswered(ctx, call, answer)
	return answer, nil, nil
}

func firstTime(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// claim is one call on its way to an answer.
type claim struct {
	rt *Runtime
	// within is the caller's own transaction, nil where there is none.
	within *transaction
	// caller is the context of whoever waits for the answer.
	caller context.Context
	// begun runs from the instant that send_by counts from.
	begun   stopwatch
	call    Call
	rule    Rule
	ruled   ruled
	named   named
	arrived time.Time
	joined  map[OperationID]bool
	// traced holds the trace context of the call, for operations it begins.
	traced map[string]string

	fingerprints map[Digest]Fingerprint
	// gone are the rule sets that the ledger no longer has.
	gone        map[Digest]bool
	matter      Matter
	invalid     string
	refusedText string
	// needsApproval is what the rule's condition says of this call.
	needsApproval bool
	// price is what the call costs, noPrice why that cannot be told.
	price   Amount
	noPrice error
	checked bool
	// snapshot is what else the conditions have judged: the recorded bytes, where
	// those of the call are others.
	snapshot []byte
	// revision is the version of what the call is about, noRevision why it
	// cannot be read.
	revision   string
	noRevision error
	// consumer is the operation that the call's consent was spent for, when the
	// caller may know it.
	consumer OperationID
	// followed: the call's own operation was superseded, and the call is about
	// the successor now.
	followed bool
	// planter makes the marks and the provider key, nil where there are none.
	planter *planter
	// resumed is the operation that the call names directly.
	resumed *Operation
	// looked: the call has looked its operation up.
	looked bool
	// spent: the call has taken its token of the rate limits; limit is their
	// refusal, nil if there was none.
	spent bool
	limit *ruling
}

// errLookAgain restarts a transaction that met what the call was not prepared
// for: records made under other rules, another share of a budget, a snapshot
// that the conditions have not judged.
var errLookAgain = errors.New("the call has to be prepared for what was found")

// errCallerLeft stops a begin whose caller left before it: nothing is stored.
var errCallerLeft = errors.New("the caller left before anything began")

func (c *claim) run(ctx context.Context) (Answer, *Grant, error) {
	rt := c.rt
	c.caller = ctx
	if text := c.call.unnamed(); text != "" {
		answer := Answer{Decision: Denied, Reason: ReasonBadArguments, Text: text}
		if c.call.Principal.Tenant == "" {
			// There is no tenant whose history could tell of it.
			return answer, nil, nil
		}
		return c.denial(ctx, answer.Reason, text), nil, nil
	}
	c.rule = rt.policy.Rule(c.call.Tool, c.call.Facts).complete()
	if c.rule.Account != "" {
		c.call.Facts.UpstreamIdentity = c.rule.Account
	}
	if !c.rule.Mutates() && c.call.Resume == "" {
		return c.read(ctx)
	}
	var err error
	if c.ruled, err = rt.ruledBy(c.rule); err != nil {
		return c.denial(ctx, ReasonBadArguments, err.Error()), nil, nil
	}
	c.rule.Hash = c.ruled.hash
	if c.planter, err = rt.planterFor(context.WithoutCancel(ctx), c.call.Principal.Tenant, c.rule); err != nil {
		return rt.storeFailed(c, err), nil, nil
	}
	prepare := c.prepare
	if c.call.Resume != "" {
		prepare = c.resume
	}
	if answer, refused := prepare(ctx); refused {
		return answer, nil, nil
	}
	for {
		r, view, err := c.attempt(ctx)
		if errors.Is(err, errPlanting) {
			return c.denial(ctx, ReasonBadArguments, err.Error()), nil, nil
		}
		if errors.Is(err, errCallerLeft) {
			return Answer{}, nil, fmt.Errorf("%w: %w", err, ctx.Err())
		}
		if err != nil {
			if again, seen, known := c.meanwhile(ctx); known {
				r, view, err = again, seen, nil
			}
		}
		if err != nil {
			return rt.storeFailed(c, err), nil, nil
		}
		if r.act == actFollow {
			if answer, final := c.follow(ctx, r.op); final {
				return answer, nil, nil
			}
			continue
		}
		if c.lookFirst(ctx, r, view.Now) {
			continue
		}
		if r.act == actAgain {
			continue
		}
		if r.act == actWait && c.patient() {
			if err := rt.waitFor(ctx, r.op, c.patience(), view.Now); err != nil {
				return Answer{}, nil, err
			}
			c.joined[r.op.ID] = true
			continue
		}
		if r.act == actBegin || r.act == actRegrant {
			return c.granted(r, view)
		}
		answer, err := c.answer(ctx, r, view)
		if err != nil {
			return rt.storeFailed(c, err), nil, nil
		}
		return answer, nil, nil
	}
}

// prepare names the call, computes its fingerprint and records the rules.
func (c *claim) prepare(ctx context.Context) (Answer, bool) {
	rt := c.rt
	ctx = context.WithoutCancel(ctx)
	fingerprint, err := c.fingerprint(c.ruled)
	if err != nil {
		return c.denial(ctx, ReasonBadArguments, err.Error()), true
	}
	c.fingerprints = map[Digest]Fingerprint{c.ruled.rules: fingerprint}
	pick := c.ruled.program.Fact
	c.matter = matterOf(c.rule.Matter, c.call.Arguments, pick)
	var no *refusal
	c.named, no, err = rt.name(ctx, c.call, c.rule, pick)
	switch {
	case err != nil:
		return rt.storeFailed(c, err), true
	case no != nil:
		return c.denial(ctx, no.reason, no.text), true
	}
	return Answer{}, false
}

// attempt looks the call up and, if the answer needs a write, transacts.
func (c *claim) attempt(ctx context.Context) (ruling, View, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storePatience)
	defer cancel()
	scope := c.scope()
	c.begun = startWatch(c.rt.clock)
	r, view, answered, err := c.known(ctx, scope)
	if err != nil || answered {
		return r, view, err
	}
	found := view.Operation
	if c.call.Principal.May(RightCall) {
		if err := c.rt.activate(ctx, c.rule, c.ruled); err != nil {
			return ruling{}, View{}, err
		}
	}
	c.check()
	if c.call.Revision != nil {
		c.readRevision()
		// The store's time begins now.
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), storePatience)
		defer cancel()
	}
	if c.call.Consent != nil {
		scope.Consent = c.call.Consent.ID
		if err := c.findConsumer(ctx); err != nil {
			return ruling{}, View{}, err
		}
	}
	scope.Budgets = c.budgetQuery(found)
	scope.Tool = c.rule.Tool
	scope.FingerprintRules = c.ruled.rules
	if c.matter != "" {
		scope.Matters = []Matter{c.matter}
	}
	for {
		scope.Fingerprints = c.allFingerprints()
		r, view, err := c.transact(ctx, scope)
		if !errors.Is(err, errLookAgain) {
			return r, view, err
		}
		if err := c.learnRules(ctx, view); err != nil {
			return ruling{}, View{}, err
		}
		c.judgeSnapshot(view.Operation)
		scope.Budgets = c.budgetQuery(view.Operation)
	}
}

// known looks the call up without locks. It reports whether that answers it:
// an operation is there, and the answer needs no write.
func (c *claim) known(ctx context.Context, scope Scope) (ruling, View, bool, error) {
	if c.named.provenance == ProvenanceNone && c.resumed == nil {
		return ruling{}, View{}, false, nil
	}
	view, err := c.rt.store.Load(ctx, scope)
	op := view.Operation
	if err != nil || op == nil {
		return ruling{}, View{}, false, err
	}
	if err := c.learnRules(ctx, view); err != nil {
		return ruling{}, View{}, false, err
	}
	r := decide(c.inquiry(view))
	lapsed := !op.LapsesAt().IsZero() && !view.Now.Before(op.LapsesAt())
	writes := r.act == actBegin || r.act == actPropose || r.act == actAgain || r.act == actConsent
	return r, view, !lapsed && !c.foundByLowerKey(view) && !writes, nil
}

// meanwhile answers a call whose write found no place in the ledger from what
// another call has begun meanwhile under its key: in a crowd of equal calls one
// writes, and the others need not.
func (c *claim) meanwhile(ctx context.Context) (ruling, View, bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), meanwhilePatience)
	defer cancel()
	r, view, answered, err := c.known(ctx, c.scope())
	return r, view, answered && err == nil
}

// meanwhilePatience bounds one more look at a ledger that took no write.
const meanwhilePatience = 2 * time.Second

// scope names the operation; twins are added for begins.
func (c *claim) scope() Scope {
	if c.resumed != nil {
		return Scope{Tenant: c.resumed.Tenant, ID: c.resumed.ID, Later: c.rule.Effect == EffectIdempotent}
	}
	return Scope{
		Tenant: c.call.Principal.Tenant, Keys: c.named.keys,
		Lineage: c.named.provenance == ProvenanceDerived,
		Later:   c.rule.Effect == EffectIdempotent,
	}
}

// check runs what is expensive or foreign once, outside the transaction: the
// tool's own schema and the policy's conditions.
func (c *claim) check() {
	if c.checked {
		return
	}
	c.checked = true
	if c.call.Validate != nil {
		c.invalid = c.call.Validate(c.call.Arguments)
	}
	if c.rule.Deny != nil {
		c.refusedText = c.rule.Deny(c.call.Arguments, c.principal())
	}
	c.needsApproval, c.snapshot = c.wantsConsent(c.call.Arguments), nil
	if c.rule.Spend != nil {
		c.price, c.noPrice = c.priceOf(c.call.Arguments)
	}
}

func (c *claim) fingerprint(r ruled) (Fingerprint, error) {
	arguments, err := c.effectArguments()
	if err != nil {
		return "", err
	}
	f, err := r.program.Fingerprint(string(c.rule.Tool), arguments)
	return Fingerprint(f), err
}

func (c *claim) allFingerprints() []Fingerprint {
	list := []Fingerprint{c.fingerprints[c.ruled.rules]}
	for rules, fingerprint := range c.fingerprints {
		if rules != c.ruled.rules && fingerprint != "" {
			list = append(list, fingerprint)
		}
	}
	return list
}

// learnRules computes the call's fingerprint under the rules of every record
// in the view that has others.
func (c *claim) learnRules(ctx context.Context, view View) error {
	for _, hash := range rulesOf(view) {
		if _, known := c.fingerprints[hash]; known {
			continue
		}
		program, err := c.rt.programFor(ctx, hash)
		if err != nil {
			return err
		}
		if program == nil || c.marked() {
			c.gone[hash] = true
			continue
		}
		fingerprint, err := c.fingerprint(ruled{program: program})
		if err != nil {
			// Arguments that those rules refuse are equal to nothing that they
			// admitted.
			fingerprint = ""
		}
		c.fingerprints[hash] = fingerprint
	}
	return nil
}

// rulesOf lists the rule sets of the records in a view.
func rulesOf(view View) []Digest {
	list := append([]Digest(nil), view.OtherRules...)
	if view.Operation != nil {
		list = append(list, view.Operation.FingerprintRules)
	}
	for _, op := range view.Lineage {
		list = append(list, op.FingerprintRules)
	}
	return list
}

func (c *claim) inquiry(view View) inquiry {
	q := inquiry{
		now: view.Now, arrived: c.rt.ledgerClock.at(c.arrived, view.Now, c.rt.clock.Now()), principal: c.principal(), rule: c.rule,
		facts: c.call.Facts, provenance: c.named.provenance, fingerprints: c.fingerprints,
		current: c.ruled.rules, claimed: c.call.EffectFingerprint, matter: c.matter,
		joined: c.joined, patient: c.patient(), view: view,
	}
	if op := view.Operation; op != nil && c.rule.ProviderKey != nil {
		q.watched = c.rt.sights.age(op, op.firstPresented(), c.rt.clock.Now())
	}
	if c.call.ManualLease {
		q.claimToken = c.call.ClaimToken
	}
	if c.followed {
		// The key that the caller gave is what its rules of age are about.
		q.view.Found.Provenance = c.named.provenance
	}
	q.needsApproval, q.checked, q.consents = c.needsApproval, c.checked, c.call.Consent != nil
	if next := c.call.Continuation; next != nil {
		q.continues, q.state, q.inputs = true, digestOf(next.State), digestOf(next.Inputs)
	}
	return q
}

// patience is how long the call may still wait for a live attempt.
func (c *claim) patience() time.Duration {
	return c.rule.Wait - c.rt.clock.Now().Sub(c.arrived)
}

func (c *claim) patient() bool { return c.patience() > 0 }

// read lets a read-only tool through, within its rate.
func (c *claim) read(ctx context.Context) (Answer, *Grant, error) {
	if !c.call.Principal.May(RightCall) {
		return c.denial(ctx, ReasonForbidden, ""), nil, nil
	}
	if r := c.takeLimits(c.arrived, ""); r != nil {
		answer := c.denial(ctx, r.reason, "")
		answer.RetryAfter = r.retryAfter
		return answer, nil, nil
	}
	if c.rule.Deny != nil {
		if text := c.rule.Deny(c.call.Arguments, c.call.Principal); text != "" {
			return c.denial(ctx, ReasonForbidden, text), nil, nil
		}
	}
	grant := &Grant{Tenant: c.call.Principal.Tenant, Arguments: bytes.Clone(c.call.Arguments), Unrecorded: true}
	return Answer{Decision: Execute, Rule: c.rule}, grant, nil
}

// takeLimits spends the call's tokens once, however often a transaction is
// repeated, and answers what they say.
func (c *claim) takeLimits(now time.Time, fingerprint Fingerprint) *ruling {
	if c.spent {
		return c.limit
	}
	c.spent = true
	all := limitName{tenant: c.call.Principal.Tenant, actor: c.call.Principal.Actor, tool: c.rule.Tool}
	repeat := all
	repeat.fingerprint = fingerprint
	if fingerprint != "" {
		if wait, ok := c.rt.limits.take(repeat, c.rule.Repeat, now); !ok {
			c.limit = &ruling{decision: Denied, reason: ReasonLoop, retryAfter: wait}
			return c.limit
		}
	}
	if wait, ok := c.rt.limits.take(all, c.rule.Rate, now); !ok {
		c.limit = &ruling{decision: Denied, reason: ReasonRate, retryAfter: wait}
		if fingerprint != "" {
			c.rt.limits.giveBack(repeat)
		}
	}
	return c.limit
}
