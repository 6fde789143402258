// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"errors"
	"sync"
	"time"
)

// keeper renews the leases of live grants, each from a third of its lease on,
// until the grant is settled, released, or lost. One goroutine serves all of
// them: most grants are settled long before their first renewal is due.
type keeper struct {
	rt    *Runtime
	begun sync.Once

	mu   sync.Mutex
	held map[*Grant]time.Time // when the next renewal is due
	// next is what the goroutine is waiting for, zero while it waits for a
	// grant.
	next time.Time
	wake chan struct{}
}

func newKeeper(rt *Runtime) *keeper {
	return &keeper{rt: rt, held: map[*Grant]time.Time{}, wake: make(chan struct{}, 1)}
}

func (k *keeper) hold(g *Grant) {
	due := k.rt.clock.Now().Add(g.Rule.Lease / 3)
	// The goroutine begins with the first grant and ends with the Runtime.
	k.begun.Do(func() {
		k.rt.running.Add(1)
		go k.loop()
	})
	k.mu.Lock()
	k.held[g] = due
	earlier := k.next.IsZero() || due.Before(k.next)
	if earlier {
		k.next = due
	}
	k.mu.Unlock()
	if earlier {
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
}

func (k *keeper) drop(g *Grant) {
	k.mu.Lock()
	delete(k.held, g)
	k.mu.Unlock()
}

// all lists the live grants.
func (k *keeper) all() []*Grant {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := make([]*Grant, 0, len(k.held))
	for g := range k.held {
		list = append(list, g)
	}
	return list
}

func (k *keeper) loop() {
	defer k.rt.running.Done()
	for {
		var due <-chan time.Time
		if next := k.plan(); !next.IsZero() {
			due = k.rt.clock.After(next.Sub(k.rt.clock.Now()))
		}
		select {
		case <-k.rt.ctx.Done():
			return
		case <-k.wake:
		case <-due:
			k.renew(k.rt.ctx)
		}
	}
}

// plan finds the next moment at which a renewal is due, zero if there is none.
func (k *keeper) plan() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = time.Time{}
	for _, due := range k.held {
		if k.next.IsZero() || due.Before(k.next) {
			k.next = due
		}
	}
	return k.next
}

// renew renews what is due, side by side: the ledger commits them together.
func (k *keeper) renew(ctx context.Context) {
	now := k.rt.clock.Now()
	var due []*Grant
	k.mu.Lock()
	for g, at := range k.held {
		// What is due soon goes along: so there are few rounds, however many
		// grants there are.
		if at.Sub(now) <= g.Rule.Lease/12 {
			due = append(due, g)
			k.held[g] = now.Add(g.Rule.Lease / 3)
		}
	}
	k.mu.Unlock()
	var round sync.WaitGroup
	for _, g := range due {
		round.Go(func() {
			if err := k.rt.Renew(ctx, g); errors.Is(err, ErrVersion) {
				k.drop(g)
			}
		})
	}
	round.Wait()
}
