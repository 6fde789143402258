// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"fmt"
	"time"
)

// Probing is how far the look-ups of an attempt have come.
type Probing struct {
	Tries int `json:"tries"`
	// Misses counts the complete look-ups behind the gate that found nothing.
	Misses    int       `json:"misses,omitempty"`
	FirstMiss time.Time `json:"first_miss,omitzero"`
	LastMiss  time.Time `json:"last_miss,omitzero"`
	// LastAt, Last and Strategy tell of the latest look-up.
	LastAt   time.Time   `json:"last_at,omitzero"`
	Last     VerdictKind `json:"last,omitempty"`
	Strategy string      `json:"strategy,omitempty"`
	// NextAt is when a worker looks again.
	NextAt time.Time `json:"next_at,omitzero"`
	// LeasedUntil, Worker and Lease belong to the look-up under way.
	LeasedUntil time.Time `json:"leased_until,omitzero"`
	Worker      string    `json:"worker,omitempty"`
	Lease       string    `json:"lease,omitempty"`
	// GaveUpAt is set when nobody looks any more unless asked: a person must
	// decide.
	GaveUpAt time.Time `json:"gave_up_at,omitzero"`
}

// EventGaveUp is the event of look-ups that have ended without an answer: the
// operation is in the queue of those that a person must decide.
const EventGaveUp EventName = "gave_up"

// probeLease is for how long a look-up keeps others away.
const probeLease = probePatience + slotPatience + 5*time.Second

// slotPatience bounds how long a leased look-up waits for its turn.
const slotPatience = 10 * time.Second

// leaseProbe checks that there is something to look up and takes the lease, in
// one compare-and-set.
func (rt *Runtime) leaseProbe(ctx context.Context, l *lookup) error {
	switch {
	case l.again > 0:
	case l.leased:
		if written, err := rt.examine(ctx, l); err != nil || !written {
			return err
		}
	case rt.looking.at(l.tenant, l.id):
		return fmt.Errorf("%s: %w", l.id, ErrLookedUp)
	}
	var leased *Operation
	err := rt.write(ctx, Scope{Tenant: l.tenant, ID: l.id}, func(view View) (Change, error) {
		op, err := l.who.visible(l.id, view, RightResolve)
		if err != nil {
			return Change{}, err
		}
		rule := rt.ruleOf(op)
		op, events, err := rt.asTimeHasIt(op, view)
		if err != nil {
			return Change{}, err
		}
		if err := l.mayLook(op, rule, view.Now); err != nil {
			return Change{}, err
		}
		next := op.clone()
		current := next.Current()
		var p Probing
		if current.Probing != nil {
			p = *current.Probing
		}
		l.inquest = inquestOf(op, rule, l.again)
		l.inquest.Tries = p.Tries
		p.Tries++
		p.LeasedUntil, p.Worker, p.Lease = view.Now.Add(probeLease), rt.worker, newNonce(rt.random)
		current.Probing = &p
		l.version, l.nonce, l.lookedAt = next.Version, p.Lease, view.Now
		leased = next
		return Change{Put: []*Operation{next}, Events: events}, nil
	})
	if err != nil {
		return err
	}
	l.watched = rt.sights.watched(leased, l.inquest.Attempt.Number, rt.clock.Now())
	return nil
}

// withoutLookUp refuses a look-up where none is configured: only of what is open
// there is something to settle in its place.
func (rt *Runtime) withoutLookUp(ctx context.Context, l lookup) error {
	view, err := rt.store.Load(ctx, Scope{Tenant: l.tenant, ID: l.id})
	if err != nil {
		return err
	}
	op, err := l.who.visible(l.id, view, RightResolve)
	if err != nil {
		return err
	}
	if op, _, err = rt.asTimeHasIt(op, view); err != nil {
		return err
	}
	if no := l.settled(op); no != nil {
		return no
	}
	return noLookUp(op, "no look-up is configured: look at "+op.Tool.Upstream()+" and resolve it by hand")
}

// mayLook says why there is nothing to look up, or that it is not the time.
func (l *lookup) mayLook(op *Operation, rule Rule, now time.Time) error {
	if no := l.settled(op); no != nil {
		return no
	}
	if !l.asked && op.State() == StateAwaitingInput {
		return ErrLookedUp
	}
	if why := elsewhere(op, rule, l.again); why != "" {
		return noLookUp(op, why)
	}
	p := op.Current().Probing
	switch {
	case p != nil && now.Before(p.LeasedUntil) && l.again == 0:
		return fmt.Errorf("%s: %w", op.ID, ErrLookedUp)
	case !l.asked && l.again == 0 && !dueAt(op, rule, now):
		return fmt.Errorf("%s: %w", op.ID, ErrLookedUp)
	}
	return nil
}

// settled refuses a look-up where nothing about the operation is open, or an
// attempt of it runs; nil where something is open.
func (l *lookup) settled(op *Operation) error {
	switch state := op.State(); {
	case op.Current() == nil:
		return noLookUp(op, "nothing was ever sent")
	case state == StateUncertain, state == StateAwaitingInput:
	case state == StateExecuting:
		if l.again == 0 || l.again >= op.AttemptNumber() {
			return noLookUp(op, "an attempt is running and its process reports; wait for it")
		} // what was found is of an earlier attempt than the one that runs
	case state == StateCommitted:
		return noLookUp(op, "nothing about it is open")
	case l.again > 0:
	case state == StateAbandoned:
		return noLookUp(op, "it was abandoned; resolve it when you know")
	default:
		return noLookUp(op, "nothing about it is open")
	}
	return nil
}

func noLookUp(op *Operation, why string) error {
	return &RefusedError{Operation: op, Event: EventUndetermined, Hint: why}
}

// elsewhere says why a look-up of the operation's attempt, as for inquestOf,
// would not look where its effect went: what is not found there proves nothing.
func elsewhere(op *Operation, rule Rule, number int) string {
	if now := firstText(rule.Account, rule.SentTo); now != "" && now != op.UpstreamIdentity {
		return "it went to " + op.UpstreamIdentity + ", and look-ups now go to " + now
	}
	then := inquestOf(op, rule, number).Attempt.LookedUpAt
	if now := rule.LookedUpAt; now != "" && then != "" && now != then {
		return "its effect shows at " + then + ", and look-ups now go to " + now
	}
	return ""
}

// inquestOf is what a look-up of the operation is told: about the attempt of
// that number, or, when it is 0, the latest that may have been applied.
func inquestOf(op *Operation, rule Rule, number int) Inquest {
	attempt := *op.latestOpen()
	if a := op.attempt(number); a != nil {
		attempt = *a
	}
	return Inquest{
		Operation: op, Attempt: attempt, Rule: rule, SentAt: op.Attempts[0].BegunAt, SendBy: attempt.SendBy, Marks: attempt.planted(),
	}
}

// latestOpen is the latest attempt that may have been applied, or the latest
// of all when none may.
func (op *Operation) latestOpen() *Attempt {
	for i := len(op.Attempts) - 1; i >= 0; i-- {
		if op.Attempts[i].Open() {
			return &op.Attempts[i]
		}
	}
	return op.Current()
}

// dueAt reports whether a worker looks the operation up now.
func dueAt(op *Operation, rule Rule, now time.Time) bool {
	if rule.GiveUp <= 0 || op.EffectiveState(now) != StateUncertain || op.Current() == nil {
		return false
	}
	p := op.Current().Probing
	if p == nil {
		return true
	}
	return p.GaveUpAt.IsZero() && !now.Before(p.NextAt) && !now.Before(p.LeasedUntil)
}

// Due is an operation whose next look-up is due.
type Due struct {
	Tenant    Tenant
	Operation OperationID
	// Slot, when set, is taken for as long as the provider is asked, so that
	// few are asked at a time while more are read and written in the ledger. It
	// returns ctx's error when there was none in time.
	Slot func(ctx context.Context) (release func(), err error)

	// lease is that of LeaseDue, until when it runs out.
	lease string
	until time.Time
}

// tenantLister is a Store that knows its tenants.
type tenantLister interface {
	Tenants(ctx context.Context) ([]Tenant, error)
}

// tenantsOf lists the tenants of the ledger; of a Store that does not know
// them, those that this process has begun operations for.
func (rt *Runtime) tenantsOf(ctx context.Context) ([]Tenant, error) {
	if lister, ok := rt.store.(tenantLister); ok {
		return lister.Tenants(ctx)
	}
	var list []Tenant
	rt.served.Range(func(tenant, _ any) bool {
		list = append(list, tenant.(Tenant))
		return true
	})
	return list, nil
}

// Due lists up to limit uncertain operations, of all tenants, whose look-up is
// due. Those that were given up, and those of tools without a look-up, are not
// among them.
func (rt *Runtime) Due(ctx context.Context, limit int) ([]Due, error) {
	if rt.reconciler == nil || limit <= 0 {
		return nil, nil
	}
	tenants, err := rt.tenantsOf(ctx)
	if err != nil {
		return nil, err
	}
	now, err := rt.ledgerNow(ctx)
	if err != nil {
		return nil, err
	}
	var list []Due
	for _, tenant := range tenants {
		if list, err = rt.dueOf(ctx, tenant, now, list, limit); err != nil || len(list) == limit {
			return list, err
		}
	}
	return list, nil
}

// dueOf adds those of one tenant that are due at now, by the ledger's clock.
func (rt *Runtime) dueOf(ctx context.Context, tenant Tenant, now time.Time, list []Due, limit int) ([]Due, error) {
	query := Query{Tenant: tenant, Statuses: []Status{StatusUncertain}, Effective: now, Limit: duePage}
	for {
		page, err := rt.store.List(ctx, query)
		if err != nil {
			return list, err
		}
		for _, op := range page.Operations {
			if !dueAt(op, rt.ruleOf(op), now) {
				continue
			}
			list = append(list, Due{Tenant: op.Tenant, Operation: op.ID})
			// From now on this process watches it.
			rt.sights.watched(op, op.latestOpen().Number, rt.clock.Now())
			if len(list) == limit {
				return list, nil
			}
		}
		if page.Next == "" {
			return list, nil
		}
		query.Before = page.Next
	}
}

// duePage bounds one read of Due.
const duePage = 1000

// plan says when to look again after a look-up that settled nothing, or that
// no look-up follows. spread is between 0 and 1.
func (p *Probing) plan(op *Operation, rule Rule, gate absence, now time.Time, spread float64) {
	if rule.GiveUp <= 0 {
		return
	}
	end := op.SettledAt.Add(rule.GiveUp)
	if !now.Before(end) || p.Last == VerdictMany {
		p.NextAt = time.Time{}
		if p.GaveUpAt.IsZero() {
			p.GaveUpAt = now
		}
		return
	}
	pause := firstPause << min(p.Tries-1, 9)
	pause = min(max(pause, rule.ReadLag/4), longestPause)
	next := now.Add(pause/2 + time.Duration(spread*float64(pause/2)))
	if rule.MaxProcessing > 0 {
		if opens := gate.opensAt(); now.Before(opens) && opens.Before(next) {
			next = opens
		}
		if p.Misses > 0 {
			next = laterOf(now, p.LastMiss.Add(gate.spacing()))
		}
	}
	if end.Before(next) {
		next = end
	}
	p.NextAt = next
}

const (
	firstPause   = 2 * time.Second
	longestPause = 10 * time.Minute
)

func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
