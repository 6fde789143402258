// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// attempt looks the call up and, if the answer needs a write, transacts.
func (c *claim) attempt(ctx context.Context) (ruling, View, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storePatience)
	defer cancel()
	scope := c.scope()
	c.begun = startWatch(c.rt.clock)
	r, view, answered, err := c.known(ctx, scope)
	if err != nil || answered && !c.foundByLowerKey(view) && !c.bindsFree(r) {
		return r, view, err
	}
	found := view.Operation
	if c.call.Principal.May(RightCall) || c.observes() {
		if err := c.rt.activate(ctx, c.rule, c.ruled); err != nil {
			return ruling{}, View{}, err
		}
	}
	c.check()
	if err := c.lookForQuotedMarks(ctx, found); err != nil {
		return ruling{}, View{}, err
	}
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
		if c.ranBeside, err = c.rt.lookBeside(ctx, view.Operation); err != nil {
			return ruling{}, View{}, err
		}
		c.judgeSnapshot(view.Operation)
		scope.Budgets = c.budgetQuery(view.Operation)
	}
}

// known looks the call up without locks. It reports whether that answers it: an
// operation is there, and the answer needs no write, unless for a further name of it.
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
	c.ranBeside = ranBeside{}
	r := decide(c.inquiry(view))
	if r.mayBegin() {
		if c.ranBeside, err = c.rt.lookBeside(ctx, op); err != nil {
			return ruling{}, View{}, false, err
		}
		r = decide(c.inquiry(view))
	}
	lapsed := !op.LapsesAt().IsZero() && !view.Now.Before(op.LapsesAt())
	writes := r.mayBegin() || r.act == actAgain || c.observes() && r.supersedes != nil
	c.lookForFree(ctx, view)
	return r, view, !lapsed && !writes, nil
}

// lookForFree finds the lower keys that name nothing yet beside a call id that was
// known: they become names of its operation. A look that fails leaves that to the
// next call.
func (c *claim) lookForFree(ctx context.Context, view View) {
	c.free = nil
	if c.named.provenance != ProvenanceCallID || len(c.named.keys) < 2 || view.Found.Text != c.named.keys[0].Text {
		return
	}
	lower := c.named.keys[1:]
	there, err := c.rt.store.Load(ctx, Scope{Tenant: c.call.Principal.Tenant, Keys: lower})
	if err == nil && there.Operation == nil {
		c.free = lower
	}
}

// bindsFree: a key that came with other arguments, or from somebody who was turned
// away, stays free for what it means. One that came for what a person decided
// against means that.
func (c *claim) bindsFree(r ruling) bool {
	if len(c.free) == 0 || r.decision == Conflict {
		return false
	}
	if r.decision != Denied {
		return true
	}
	op := r.op
	return op != nil && !r.hidden && (op.Status == StatusDenied || op.Status == StatusCancelled) && c.fingerprints[op.FingerprintRules] == op.Fingerprint
}

// meanwhile answers a call whose write found no place in the ledger from what
// another call has begun meanwhile under its key: in a crowd of equal calls one
// writes, and the others need not. A repeat is answered also where its further name
// could not be written.
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

// errLookAgain restarts a transaction that met what the call was not prepared
// for: records made under other rules, another share of a budget, a snapshot
// that the conditions have not judged, calls that ran beside the record.
var errLookAgain = errors.New("the call has to be prepared for what was found")

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
		if errors.Is(err, errLookAgain) {
			unknown = view
		}
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
