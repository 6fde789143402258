// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Reconciler finds out from the outside world what became of an operation. It
// only reads, and never re-sends. Implementations are safe for concurrent use
// and heed ctx. An error, an answer that cannot be read and a look-up that
// does not come to an end are all undetermined, never absent.
//
// Package reconcile has implementations for what providers offer.
type Reconciler interface {
	Probe(ctx context.Context, q Inquest) (Verdict, error)
}

// Inquest is what a look-up is told.
type Inquest struct {
	// Operation comes with its arguments. A look-up must go to where the
	// operation went: compare UpstreamIdentity.
	Operation *Operation
	// Attempt is the latest that may have been applied.
	Attempt Attempt
	// Marks are what was planted for this operation, and nothing else may be
	// looked for.
	Marks Marks
	Rule  Rule
	// SentAt is the ledger's time before which nothing of the operation can
	// have happened, SendBy the time after which none of it left.
	SentAt time.Time
	SendBy time.Time
	// Tries counts the look-ups before this one.
	Tries int
}

// ErrLookedUp: another look-up of the operation is under way, or none is due.
// Nothing was asked.
var ErrLookedUp = errors.New("being looked up, or not due")

// Finding is what a look-up came to and what counted of it.
type Finding struct {
	// Operation is as it stands after the look-up.
	Operation *Operation
	Verdict   Verdict
	// Counted is what the verdict amounted to; Why says why it is less than
	// was claimed.
	Counted VerdictKind
	Why     string
	// Stale: the operation had moved on meanwhile, so that the verdict is kept
	// as evidence and changed nothing.
	Stale bool
}

// mostLate bounds how often an operation that moves on during every look-up is
// looked up again.
const mostLate = 5

// probePatience bounds one look-up.
const probePatience = 30 * time.Second

// Reconcile looks an unresolved operation up once, now, and records what came
// of it: found commits it, several are a person's to sort out, an absence
// counts only behind its gate. It needs the right to resolve. A
// *RefusedError says that there is nothing to look up where the operation
// stands, ErrLookedUp that somebody else is at it.
func (rt *Runtime) Reconcile(ctx context.Context, who Principal, id OperationID) (Finding, error) {
	return rt.look(ctx, lookup{who: who, tenant: who.Tenant, id: id, asked: true})
}

// ReconcileDue is Reconcile for background workers: it answers ErrLookedUp
// unless a look-up is due. It takes a lease of its own where LeaseDue has not.
func (rt *Runtime) ReconcileDue(ctx context.Context, due Due) (Finding, error) {
	who := Principal{Tenant: due.Tenant, Actor: reconcilerActor, Rights: []Right{RightRead, RightResolve}}
	if due.lease != "" {
		defer rt.looking.done(due)
	}
	if err := ctx.Err(); err != nil {
		return Finding{}, err
	}
	return rt.look(ctx, lookup{who: who, tenant: due.Tenant, id: due.Operation, slot: due.Slot, leased: due.lease != "", until: due.until})
}

// reconcilerActor is named in the events of look-ups that nobody asked for.
const reconcilerActor Actor = "reconciler"

// lookup is one look-up on its way.
type lookup struct {
	who    Principal
	tenant Tenant
	id     OperationID
	// asked: somebody wants it now, due or not.
	asked bool
	// again is, after a find that came too late to count, the attempt that it was
	// about: it is looked up whatever has been decided meanwhile. 0 otherwise.
	again int
	// late counts the finds that came too late.
	late int
	// slot is taken while the provider is asked, nil where that is not bounded.
	slot func(context.Context) (func(), error)

	// leased: it has a lease with others, until then, and takes none of its own.
	leased bool
	until  time.Time

	inquest Inquest
	version int64
	// nonce is of a lease of its own; otherwise before is how far look-ups of the
	// attempt had come.
	nonce  string
	before Probing
	// lookedAt is the ledger's time when the look-up began, watched the time
	// for which this process had known of the attempt.
	lookedAt time.Time
	watched  time.Duration
}

// look makes a look-up: lease, ask, compare and set.
func (rt *Runtime) look(ctx context.Context, l lookup) (Finding, error) {
	if rt.closed.Load() {
		return Finding{}, ErrClosed
	}
	if rt.reconciler == nil {
		return Finding{}, rt.withoutLookUp(ctx, l)
	}
	if err := rt.leaseProbe(ctx, &l); err != nil {
		return Finding{}, err
	}
	release, err := l.turn(ctx)
	if err != nil {
		// The lease runs out by itself; nothing was asked.
		return Finding{}, fmt.Errorf("%s: %w: %w", l.id, ErrLookedUp, err)
	}
	v, err := rt.ask(ctx, l.inquest)
	release()
	if err != nil {
		v = Verdict{Kind: VerdictUndetermined, Strategy: v.Strategy, Evidence: "the look-up failed: " + err.Error()}
	}
	if v.Strategy == "" {
		v.Strategy = "look-up"
	}
	finding, err := rt.conclude(context.WithoutCancel(ctx), l, v)
	if err == nil && finding.Stale && finding.Counted == VerdictFound && l.late < mostLate {
		// Something was found, and what it would prove must not be lost: look
		// at the operation as it stands now.
		l.again, l.late = l.inquest.Attempt.Number, l.late+1
		if second, err := rt.look(ctx, l); err == nil {
			return second, nil
		}
	}
	return finding, err
}

// turn waits until the provider may be asked.
func (l *lookup) turn(ctx context.Context) (release func(), err error) {
	if l.slot == nil {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, slotPatience)
	defer cancel()
	return l.slot(ctx)
}

// ask probes, and turns a panic into an error. By arguments that are not those
// that were sent, another effect would be found, or none.
func (rt *Runtime) ask(ctx context.Context, q Inquest) (v Verdict, err error) {
	if err := q.Operation.intact(); err != nil {
		return Verdict{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			v, err = Verdict{}, fmt.Errorf("it panicked: %v", p)
		}
	}()
	return rt.reconciler.Probe(ctx, q)
}
