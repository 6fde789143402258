// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"bytes"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

const (
	// maxRemembered bounds the operations that are remembered, and
	// maxRememberedBytes what one of them may carry.
	maxRemembered      = 2048
	maxRememberedBytes = 8 << 10
	// forgetAfter is how long an operation is remembered beyond its lease.
	forgetAfter = time.Minute
	// clockKept is how long the database's clock goes on in this process, and
	// clockAgrees how far off it may then be.
	clockKept   = time.Minute
	clockAgrees = time.Second
)

// memory is what this process has written of operations that it has begun and
// not settled, so that their outcome need not be preceded by reading them. What
// is remembered may have been changed by others: a write that rests on it is
// made on the condition that the row's revision is still the one remembered.
type memory struct {
	mu   sync.Mutex
	rows map[identity]remembered
	// us is what the database's clock said at the instant.
	us int64
	at time.Time
}

type identity struct {
	tenant deed.Tenant
	id     deed.OperationID
}

// remembered is a row as it was written, with the end of the lease that is in it.
type remembered struct {
	row
	lease time.Time
}

func newMemory() *memory { return &memory{rows: map[identity]remembered{}} }

// keep remembers what a committed transaction has written, and forgets what is
// settled.
func (m *memory) keep(tenant deed.Tenant, written []*stored) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, at := range written {
		op := at.Operation
		name := identity{tenant, op.ID}
		if op.Status != deed.StatusExecuting || len(op.Receipts) > 0 || at.light || len(op.Arguments)+len(op.Result)+len(at.record) > maxRememberedBytes {
			delete(m.rows, name)
			continue
		}
		if _, known := m.rows[name]; !known && len(m.rows) >= maxRemembered && !m.sweep(op.LeaseExpiresAt) {
			continue
		}
		kept := remembered{lease: op.LeaseExpiresAt}
		kept.record, kept.revision, kept.payload = at.record, at.revision+1, at.payload
		if at.fresh {
			kept.revision = at.revision
		}
		kept.deliveredAt = micros(op.DeliveredAt)
		kept.arguments, kept.result = bytes.Clone(op.Arguments), bytes.Clone(op.Result)
		m.rows[name] = kept
	}
}

// sweep forgets operations whose leases have long run out when one is written
// whose lease ends then, and reports whether there is room.
func (m *memory) sweep(lease time.Time) bool {
	for name, kept := range m.rows {
		if kept.lease.Add(forgetAfter).Before(lease) {
			delete(m.rows, name)
		}
	}
	return len(m.rows) < maxRemembered
}

// recall puts together what is remembered of an operation, as if it were read.
func (m *memory) recall(tenant deed.Tenant, id deed.OperationID) *stored {
	m.mu.Lock()
	kept, known := m.rows[identity{tenant, id}]
	m.mu.Unlock()
	if !known {
		return nil
	}
	at, err := kept.open()
	if err != nil {
		m.forget(tenant, id)
		return nil
	}
	return at
}

func (m *memory) forget(tenant deed.Tenant, id deed.OperationID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.rows, identity{tenant, id})
}

// hear notes what the database's clock has just said.
func (m *memory) hear(us int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.us, m.at = us, time.Now()
}

// now is the time by the database's clock, unless that was read long ago.
func (m *memory) now() (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	since := time.Since(m.at)
	if m.at.IsZero() || since > clockKept {
		return time.Time{}, false
	}
	return fromMicros(m.us + since.Microseconds()), true
}

// mayRecall reports whether a job asks for an operation and nothing beside it.
func (j *job) mayRecall() bool {
	scope := &j.scope
	return !j.reads && j.lost == nil && scope.ID != "" && !scope.Lineage && !scope.Later && scope.Tool == "" && scope.Consent == "" &&
		len(scope.Budgets) == 0 && len(scope.Keys) == 0
}

// recall answers a request from memory, if it can.
func (q *request) recall(m *memory) {
	if at := m.recall(q.scope.Tenant, q.scope.ID); at != nil {
		q.recalled, q.view.Operation, q.seen[at.ID] = true, at.Operation, at
	}
}
