// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"errors"
	"fmt"
)

// TxStore is a ledger seen from inside a transaction that a caller has opened
// on the ledger's own database. It belongs to one goroutine.
type TxStore interface {
	// Transact is [Store].Transact inside the transaction: what it writes is
	// seen by nobody else and not durable before Commit. After an error nothing
	// of it remains, no lock either, and the transaction can go on.
	Transact(ctx context.Context, scope Scope, change func(View) (Change, error)) (View, error)
	// Commit makes everything in the transaction durable. ErrCommitUnknown: the
	// acknowledgement was lost, everything or nothing of it is there. After any
	// other error nothing is.
	Commit(ctx context.Context) error
	// Rollback ends the transaction without a trace. It does nothing after
	// Commit.
	Rollback(ctx context.Context) error
}

// DoTx is [Runtime.Do] for an effect that lives in the caller's own
// transaction on the database that holds the Runtime's ledger: fn works in the
// transaction behind tx, and the record of the operation, the effect and its
// receipt are committed together or not at all. Here nothing is ever
// uncertain for want of an answer.
//
// DoTx ends the transaction: it commits when fn has returned a receipt, and
// rolls back otherwise. A crash, an error or panic of fn, and a caller that
// leaves before the commit are as if the call had never been made: the next
// call with the key begins. A call beside one that is still running waits for
// it under the database's locks, and is denied with store_unavailable when
// that takes longer than the ledger's patience. fn must change nothing outside
// the transaction, and be quick: it holds those locks.
//
// Every answer but [Execute] was given without fn, and the transaction has been
// rolled back: a replay, a conflict, a refusal, a proposal for approval (which
// is recorded by itself).
//
// The error is what fn returned, ctx's own when the caller left, ErrClosed, that
// fn is nil, or that of the database when the commit failed; then nothing happened. An
// error that matches ErrCommitUnknown says that the database could not be
// asked any more whether the commit was done: repeat the call with the same
// key, whose record tells.
func DoTx(ctx context.Context, rt *Runtime, tx TxStore, call Call, fn func(ctx context.Context, attempt Attempt) (Receipt, error)) (Answer, error) {
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if fn == nil {
		return Answer{}, errNoFunction
	}
	call.ManualLease, call.ClaimToken = false, ""
	within := &transaction{TxStore: tx}
	answer, grant, err := rt.claim(ctx, call, within)
	if err != nil {
		return Answer{}, err
	}
	if grant == nil {
		rt.Delivered(ctx, answer)
		return answer, nil
	}
	answer, err = within.carryOut(ctx, rt, grant, fn)
	switch {
	case err == nil:
		rt.came(ctx, grant, Outcome{Kind: OutcomeSuccess})
	case !errors.Is(err, ErrCommitUnknown):
		rt.came(ctx, grant, Outcome{Kind: OutcomeUnsent})
	}
	if err != nil {
		rt.observer.CallAnswered(ctx, call, Answer{Principal: call.Principal, Rule: grant.Rule, At: rt.clock.Now()})
		return Answer{}, err
	}
	rt.observer.CallAnswered(ctx, call, answer)
	rt.Delivered(ctx, answer)
	return answer, nil
}

// transaction is a TxStore on its way to its commit.
type transaction struct {
	TxStore
	// begun is the scope under which the operation was begun.
	begun Scope
	// events are told to the Observer once they are durable.
	events []Event
}

// Transact checks first that the ledger of the transaction is the Runtime's:
// there the rules in force have been recorded by now.
func (t *transaction) Transact(ctx context.Context, scope Scope, change func(View) (Change, error)) (View, error) {
	return t.TxStore.Transact(ctx, scope, func(view View) (Change, error) {
		if scope.Tool != "" && view.Active == "" {
			return Change{}, fmt.Errorf("%w: the transaction sees none of this Runtime's rules: it is on another database, or its snapshot is older; nothing was done", ErrUnavailable)
		}
		return change(view)
	})
}

// Only a begin is written in the caller's transaction. Everything else, such as
// a proposal or a lapse, is written in one of the ledger's own, for it must
// outlive a rollback.
var (
	errNoBegin = errors.New("nothing is begun")
	errBegins  = errors.New("something is begun")
)

// transactWithin decides inside the caller's transaction and writes a begin
// there; every other ruling is made again in a transaction of the ledger's own.
func (c *claim) transactWithin(ctx context.Context, scope Scope) (ruling, View, error) {
	for range beginTries {
		r, view, err := c.transactOn(ctx, c.within, scope, func(r ruling) error {
			if r.act != actBegin {
				return errNoBegin
			}
			return nil
		})
		if !errors.Is(err, errNoBegin) {
			c.within.begun = scope
			return r, view, err
		}
		r, view, err = c.transactOn(ctx, c.rt.store, scope, func(r ruling) error {
			if r.act == actBegin {
				return errBegins
			}
			return nil
		})
		if !errors.Is(err, errBegins) {
			return r, view, err
		}
	}
	return ruling{}, View{}, fmt.Errorf("%w: the operation does not come to rest; nothing was done, try again", ErrUnavailable)
}

// beginTries bounds how often a claim moves between the two transactions.
const beginTries = 5

// carryOut runs fn, settles and commits.
func (t *transaction) carryOut(ctx context.Context, rt *Runtime, g *Grant, fn func(context.Context, Attempt) (Receipt, error)) (Answer, error) {
	if err := g.MaySend(); err != nil {
		return Answer{}, err
	}
	receipt, err := fn(ctx, g.attempt())
	if err != nil {
		return Answer{}, fmt.Errorf("rolled back, nothing happened: %w", err)
	}
	answer := g.answer
	answer.Decision, answer.Result = Execute, receipt.Result
	if g.Unrecorded {
		answer.Text = ""
		answer = answer.ofNoRecord()
	} else {
		out := Outcome{Kind: OutcomeSuccess, Receipt: receipt, Result: receipt.Result}
		op, events, err := rt.settleOn(ctx, t, g, out)
		if err != nil {
			return Answer{}, fmt.Errorf("rolled back, nothing happened: %w", err)
		}
		t.events = append(t.events, events...)
		answer.Operation, answer.Effective = op, op.Status
		if answer.WouldBe == "" {
			answer.Reason = op.Reason
		}
	}
	if err := t.commit(ctx, rt, g); err != nil {
		return Answer{}, err
	}
	rt.recorded(ctx, t.events)
	answer.At = rt.clock.Now()
	return answer, nil
}

// commit commits, and finds out by the nonce of the attempt what became of a
// commit that was not acknowledged.
func (t *transaction) commit(ctx context.Context, rt *Runtime, g *Grant) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("the caller left before the commit; rolled back, nothing happened: %w", err)
	}
	// From here on a caller that leaves changes nothing.
	ctx = context.WithoutCancel(ctx)
	err := t.Commit(ctx)
	if !errors.Is(err, ErrCommitUnknown) || g.Unrecorded {
		return err
	}
	// A look that waits for the locks of the lost transaction comes after its
	// end: what is not there then never will be.
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	there := false
	_, again := rt.store.Transact(ctx, t.begun, func(view View) (Change, error) {
		op := view.Operation
		there = op != nil && op.attempt(g.Attempt) != nil && op.attempt(g.Attempt).Nonce == g.nonce
		return Change{}, nil
	})
	switch {
	case again != nil:
		return fmt.Errorf("%w, and the ledger does not answer: repeat the call with the same key: %w", err, again)
	case !there:
		return fmt.Errorf("%w: the connection was lost and the transaction rolled back; nothing happened, call again", ErrUnavailable)
	}
	return nil
}
