// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// lookupLeases is the setting that holds the leases of background look-ups.
const lookupLeases = "lookups/leases"

// manyLease is one lease of many look-ups, as the ledger holds it. It keeps
// other processes from asking the same again; what a look-up may change is
// decided by the operation's version and attempt, whoever holds a lease.
type manyLease struct {
	Lease      string                   `json:"lease"`
	Worker     string                   `json:"worker"`
	Until      time.Time                `json:"until"`
	Operations map[Tenant][]OperationID `json:"operations"`
}

// LeaseDue takes the look-ups among due that nobody else is at, all in one
// transaction, and returns those: hand each to ReconcileDue, also those that are
// not wanted any more, with a ctx that has ended. Leases whose look-ups have all
// come back that way are given up at the next call, also at one with an empty
// list; those of a process that died run out.
func (rt *Runtime) LeaseDue(ctx context.Context, due []Due) ([]Due, error) {
	finished := rt.looking.finished()
	if len(due) == 0 && len(finished) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	now := rt.clock.Now()
	if len(due) > 0 {
		// By the ledger's clock, which all processes share.
		view, err := rt.store.Load(ctx, Scope{Tenant: due[0].Tenant})
		if err != nil {
			return nil, fmt.Errorf("leasing %s: %w; nothing was asked", plural(len(due), "look-up"), err)
		}
		now = view.Now
	}
	lease, until := newNonce(rt.random), now.Add(probeLease)
	var taken []Due
	_, err := rt.store.Setting(ctx, lookupLeases, func(old []byte) []byte {
		live := liveLeases(old, finished, now)
		held := map[sighting]bool{}
		for _, other := range live {
			for tenant, ids := range other.Operations {
				for _, id := range ids {
					held[sighting{tenant: tenant, id: id}] = true
				}
			}
		}
		taken = nil
		own := manyLease{Lease: lease, Worker: rt.worker, Until: until, Operations: map[Tenant][]OperationID{}}
		for _, one := range due {
			if held[sighting{tenant: one.Tenant, id: one.Operation}] {
				continue
			}
			one.lease, one.until = lease, until
			taken = append(taken, one)
			own.Operations[one.Tenant] = append(own.Operations[one.Tenant], one.Operation)
		}
		if len(taken) > 0 {
			live = append(live, own)
		}
		doc, err := json.Marshal(live)
		if err != nil {
			return nil
		}
		return doc
	})
	if err != nil {
		return nil, fmt.Errorf("leasing %s: %w; nothing was asked", plural(len(due), "look-up"), err)
	}
	rt.looking.drop(finished)
	rt.looking.add(lease, taken)
	return taken, nil
}

// liveLeases are those that others have to heed: what cannot be read has run
// out, and so has what was given up.
func liveLeases(doc []byte, finished map[string]bool, now time.Time) []manyLease {
	var all []manyLease
	if len(doc) > 0 && json.Unmarshal(doc, &all) != nil {
		return nil
	}
	live := []manyLease{}
	for _, one := range all {
		if now.Before(one.Until) && !finished[one.Lease] {
			live = append(live, one)
		}
	}
	return live
}

// examine is leaseProbe for a look-up that is leased with others: it only
// reads. written says that something must be written first, for which the
// look-up takes a lease of its own.
func (rt *Runtime) examine(ctx context.Context, l *lookup) (written bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	view, err := rt.store.Load(ctx, Scope{Tenant: l.tenant, ID: l.id})
	if err != nil {
		return false, err
	}
	op := view.Operation
	if op == nil {
		return false, fmt.Errorf("%s: %w", l.id, ErrNotFound)
	}
	rule := rt.ruleOf(op)
	if lapsed, _, err := lapse(op, view.Now, rule.Retention); err != nil || lapsed != nil {
		return true, err
	}
	if err := l.mayLook(op, rule, view.Now); err != nil {
		return false, err
	}
	if l.until.Sub(view.Now) < probeLease-slotPatience {
		return false, fmt.Errorf("%s: its lease is about to run out: %w", l.id, ErrLookedUp)
	}
	if p := op.Current().Probing; p != nil {
		l.before = *p
	}
	l.inquest = inquestOf(op, rule, 0)
	l.inquest.Tries = l.before.Tries
	l.version, l.lookedAt = op.Version, view.Now
	l.watched = rt.sights.watched(op, l.inquest.Attempt.Number, rt.clock.Now())
	return false, nil
}

// mine reports whether the operation is still the one that the look-up examined,
// and no other look-up of it has begun or ended since.
func (l *lookup) mine(op *Operation) bool {
	current := op.Current()
	if current == nil || op.Version != l.version {
		return false
	}
	if l.nonce != "" {
		return current.Probing != nil && current.Probing.Lease == l.nonce
	}
	var now Probing
	if current.Probing != nil {
		now = *current.Probing
	}
	return now.Tries == l.before.Tries && now.Lease == l.before.Lease
}

// looking is what background look-ups of this process are at, by lease.
type looking struct {
	mu     sync.Mutex
	leases map[string]map[sighting]bool
}

func (k *looking) add(lease string, taken []Due) {
	if len(taken) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.leases == nil {
		k.leases = map[string]map[sighting]bool{}
	}
	at := make(map[sighting]bool, len(taken))
	for _, one := range taken {
		at[sighting{tenant: one.Tenant, id: one.Operation}] = true
	}
	k.leases[lease] = at
}

// done takes one look-up off its lease.
func (k *looking) done(due Due) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.leases[due.lease], sighting{tenant: due.Tenant, id: due.Operation})
}

// at reports whether the operation is being looked up.
func (k *looking) at(tenant Tenant, id OperationID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, at := range k.leases {
		if at[sighting{tenant: tenant, id: id}] {
			return true
		}
	}
	return false
}

// finished are the leases of which nothing is left.
func (k *looking) finished() map[string]bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := map[string]bool{}
	for lease, at := range k.leases {
		if len(at) == 0 {
			list[lease] = true
		}
	}
	return list
}

func (k *looking) drop(leases map[string]bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for lease := range leases {
		delete(k.leases, lease)
	}
}
