// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"sync"
	"time"
)

// sightings remembers since when this process has known of attempts, by its
// own clock with its monotonic reading: a ledger whose clock was set cannot
// make an absence count too early, nor a provider key live too long.
type sightings struct {
	mu   sync.Mutex
	seen map[sighting]time.Time
}

type sighting struct {
	tenant  Tenant
	id      OperationID
	attempt int
}

// maxSightings bounds the memory; when it is full everything is forgotten and
// watched anew, which only makes look-ups wait longer.
const maxSightings = 200_000

// watched returns for how long the attempt has been known, from now on if it
// was not.
func (s *sightings) watched(op *Operation, attempt int, now time.Time) time.Duration {
	key := sighting{op.Tenant, op.ID, attempt}
	s.mu.Lock()
	defer s.mu.Unlock()
	since, ok := s.seen[key]
	if !ok {
		if s.seen == nil || len(s.seen) >= maxSightings {
			s.seen = map[sighting]time.Time{}
		}
		s.seen[key] = now
		return 0
	}
	return now.Sub(since)
}

// age is watched for an attempt that may not be known.
func (s *sightings) age(op *Operation, attempt int, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since, ok := s.seen[sighting{op.Tenant, op.ID, attempt}]; ok {
		return now.Sub(since)
	}
	return 0
}

// forget drops what is known of an operation that is settled.
func (s *sightings) forget(op *Operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range op.Attempts {
		delete(s.seen, sighting{op.Tenant, op.ID, a.Number})
	}
}
