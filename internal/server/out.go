// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

// claimsOut are the attempts that this server gave to claimants and that nobody has
// settled here, with the ends of their leases.
type claimsOut struct {
	mu     sync.Mutex
	leases map[attemptOut]time.Time
	// fewer is sent to, where somebody waits, when there may be fewer of them.
	fewer chan struct{}
}

type attemptOut struct {
	operation deed.OperationID
	number    int
}

func newClaimsOut() *claimsOut {
	return &claimsOut{leases: map[attemptOut]time.Time{}, fewer: make(chan struct{}, 1)}
}

// sweepAt is the number of claims at which those whose lease has run out are let go.
const sweepAt = 4096

func (o *claimsOut) gave(operation deed.OperationID, number int, until, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.leases) >= sweepAt {
		o.sweep(now)
	}
	o.leases[attemptOut{operation, number}] = until
}

func (o *claimsOut) settled(operation deed.OperationID, number int) {
	o.mu.Lock()
	delete(o.leases, attemptOut{operation, number})
	o.mu.Unlock()
	select {
	case o.fewer <- struct{}{}:
	default:
	}
}

// sweep lets go of what has run out. The caller holds mu.
func (o *claimsOut) sweep(now time.Time) (next time.Time) {
	for attempt, until := range o.leases {
		if !until.After(now) {
			delete(o.leases, attempt)
		} else if next.IsZero() || until.Before(next) {
			next = until
		}
	}
	return next
}

// AwaitClaims returns when every claim that this server gave is settled or its lease
// has run out, or when ctx ends: then with the number of those that are still out.
func (s *Server) AwaitClaims(ctx context.Context) int {
	o := s.out
	for {
		now := s.Clock.Now()
		o.mu.Lock()
		next, left := o.sweep(now), len(o.leases)
		o.mu.Unlock()
		if left == 0 || ctx.Err() != nil {
			return left
		}
		select {
		case <-o.fewer:
		case <-s.Clock.After(next.Sub(now)):
		case <-ctx.Done():
		}
	}
}
