// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

// claimsOut are the attempts that this server gave to claimants and that nobody has
// settled here, with the ends of their leases.
type claimsOut struct {
	mu     sync.Mutex
	leases map[attemptOut]time.Time
	// asked is the number of claims that have no answer yet.
	asked int
	// fewer is sent to, where somebody waits, when there may be fewer of them.
	fewer chan struct{}
}

type attemptOut struct {
	tenant    deed.Tenant
	operation deed.OperationID
	number    int
}

// lookAgain is how often AwaitClaims looks whether another gateway took a settlement.
const lookAgain = time.Second

func newClaimsOut() *claimsOut {
	return &claimsOut{leases: map[attemptOut]time.Time{}, fewer: make(chan struct{}, 1)}
}

// sweepAt is the number of claims at which those whose lease has run out are let go.
const sweepAt = 4096

// asks counts a claim until its answer is there, which what it returns says.
func (o *claimsOut) asks() func() {
	o.mu.Lock()
	o.asked++
	o.mu.Unlock()
	return func() {
		o.mu.Lock()
		o.asked--
		o.mu.Unlock()
		o.tell()
	}
}

func (o *claimsOut) gave(attempt attemptOut, until, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.leases) >= sweepAt {
		o.sweep(now)
	}
	o.leases[attempt] = until
}

func (o *claimsOut) settled(attempt attemptOut) {
	o.mu.Lock()
	delete(o.leases, attempt)
	o.mu.Unlock()
	o.tell()
}

func (o *claimsOut) tell() {
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

// lookUp lets go of those that the ledger says are over.
func (o *claimsOut) lookUp(ctx context.Context, over func(context.Context, attemptOut) bool) {
	o.mu.Lock()
	all := slices.Collect(maps.Keys(o.leases))
	o.mu.Unlock()
	for _, attempt := range all {
		if over(ctx, attempt) {
			o.settled(attempt)
		}
	}
}

// over reports whether an attempt has ended, wherever it was settled.
func (s *Server) over(ctx context.Context, attempt attemptOut) bool {
	op, err := s.Runtime.Get(ctx, deed.Principal{Tenant: attempt.tenant, Rights: []deed.Right{deed.RightRead}}, attempt.operation)
	return err == nil && (op.Status != deed.StatusExecuting || op.AttemptNumber() != attempt.number)
}

// AwaitClaims returns when every claim that this server gave is settled or its lease
// has run out, or when ctx ends or gone is closed, with which nobody reaches this
// server any more: then with the number of those that are still out.
func (s *Server) AwaitClaims(ctx context.Context, gone <-chan struct{}) int {
	o := s.out
	for look := s.Runtime != nil; ; {
		if look {
			o.lookUp(ctx, s.over)
			look = false
		}
		now := s.Clock.Now()
		o.mu.Lock()
		next, left, asked := o.sweep(now), len(o.leases), o.asked
		o.mu.Unlock()
		if left+asked == 0 || ctx.Err() != nil || closed(gone) {
			return left
		}
		var over <-chan time.Time
		if left > 0 {
			over = s.Clock.After(min(next.Sub(now), lookAgain))
		}
		select {
		case <-o.fewer:
		case <-over:
			look = s.Runtime != nil
		case <-gone:
		case <-ctx.Done():
		}
	}
}

func closed(gone <-chan struct{}) bool {
	select {
	case <-gone:
		return true
	default:
		return false
	}
}
