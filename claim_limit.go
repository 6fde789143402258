// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"sync"
	"time"
)

// limiter counts begins and reads in token buckets, in memory and per
// process.
type limiter struct {
	mu      sync.Mutex
	buckets map[limitName]*bucket
	// made is the number of buckets since the last sweep.
	made int
}

// limitName is what a bucket counts: the begins and reads of an actor on a tool,
// or those of one effect.
type limitName struct {
	tenant Tenant
	actor  Actor
	tool   Tool
	// repeats of fingerprint are counted, all calls where it is empty.
	fingerprint Fingerprint
}

type bucket struct {
	tokens float64
	filled time.Time
	limit  Limit
}

// take spends one token of the named bucket, or says how long until there is
// one. A limit that is not positive always allows.
func (l *limiter) take(name limitName, limit Limit, now time.Time) (wait time.Duration, ok bool) {
	if limit.N <= 0 || limit.Per <= 0 {
		return 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[name]
	if b == nil || b.limit != limit {
		if l.made++; l.made == sweepAfter {
			l.made = 0
			l.sweep(now)
		}
		if l.buckets == nil {
			l.buckets = map[limitName]*bucket{}
		}
		b = &bucket{tokens: float64(limit.N), filled: now, limit: limit}
		l.buckets[name] = b
	}
	rate := float64(limit.N) / float64(limit.Per)
	// A clock that was set back takes no tokens away: as many calls as before are
	// let through, from its new time on.
	b.tokens = min(float64(limit.N), b.tokens+rate*float64(max(0, now.Sub(b.filled))))
	b.filled = now
	if b.tokens < 1 {
		return time.Duration((1 - b.tokens) / rate), false
	}
	b.tokens--
	return 0, true
}

// giveBack returns a token that was taken for a begin that did not happen.
func (l *limiter) giveBack(name limitName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.buckets[name]; b != nil {
		b.tokens = min(float64(b.limit.N), b.tokens+1)
	}
}

// Every sweepAfter new buckets, sweepOver are looked at and the full ones of
// them forgotten.
const (
	sweepAfter = 16
	sweepOver  = 2 * sweepAfter
)

// sweep forgets a few buckets that are full again: a full bucket says the same
// as none. Map iteration begins anywhere, so that all are met in time.
func (l *limiter) sweep(now time.Time) {
	looked := 0
	for name, b := range l.buckets {
		rate := float64(b.limit.N) / float64(b.limit.Per)
		if b.tokens+rate*float64(now.Sub(b.filled)) >= float64(b.limit.N) {
			delete(l.buckets, name)
		}
		if looked++; looked == sweepOver {
			return
		}
	}
}
