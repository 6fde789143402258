// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"bytes"
	"strings"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

const (
	// mostRemembered and largestRemembered, in bytes, bound what is remembered
	// of operations.
	mostRemembered    = 2048
	largestRemembered = 32 << 10
	// longestPause bounds for how many batches nothing is assumed after one of
	// them was wrong.
	longestPause = 32
)

// memory is what this process knows of the ledger without having read it just
// now. Whatever is decided on it is written only if the ledger agrees.
type memory struct {
	mu sync.Mutex
	// unsettled are the operations that were begun here, as they are stored,
	// and named the keys that name them.
	unsettled map[rememberedID]*row
	named     map[rememberedKey]int
	rules     map[deed.Tool][]byte
	// said is the time that the database's clock showed a little before
	// heardAt, told the latest time that was taken from it.
	said, heardAt, told time.Time

	// wrong is the length of the last pause, pause what is left of it.
	wrong, pause int
}

type rememberedID struct {
	tenant deed.Tenant
	id     deed.OperationID
}

type rememberedKey struct {
	tenant deed.Tenant
	actor  deed.Actor
	family deed.Family
	text   string
}

func newMemory() *memory {
	return &memory{unsettled: map[rememberedID]*row{}, named: map[rememberedKey]int{}, rules: map[deed.Tool][]byte{}}
}

// hopeful reports whether to assume anything, after assumptions that were
// wrong.
func (m *memory) hopeful() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pause > 0 {
		m.pause--
		return false
	}
	return true
}

// hope takes note of how an assumption turned out. One that is wrong costs a
// round trip; where many are, they are not worth trying.
func (m *memory) hope(right bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if right {
		m.wrong = 0
		return
	}
	m.pause = m.wrong
	m.wrong = min(max(1, 2*m.wrong), longestPause)
}

// time is the database's clock as far as can be told: a little behind it, and
// never behind what was taken from it before.
func (m *memory) time() (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.said.IsZero() {
		return time.Time{}, false
	}
	at := ledgerTime(m.said.Add(time.Since(m.heardAt)))
	if at.Before(m.told) {
		at = m.told
	}
	m.told = at
	return at, true
}

// heard takes note of what the clock said in a round trip that has just ended.
func (m *memory) heard(said time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if said.IsZero() {
		return
	}
	m.said, m.heardAt = said, time.Now()
	// A clock that was set back is believed.
	if said.After(m.told) || m.told.Sub(said) > time.Second {
		m.told = said
	}
}

// active is the hash of the rules in force for a tool when it was last read.
func (m *memory) active(tool deed.Tool) (hash []byte, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	hash, known = m.rules[tool]
	return hash, known
}

// learn takes note of the rules that a reading found in force.
func (m *memory) learn(r *reading) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, request := range r.requests {
		tool := request.scope.Tool
		if tool == "" {
			continue
		}
		if len(m.rules) >= mostRemembered {
			clear(m.rules)
		}
		m.rules[tool] = nil
		for _, of := range r.rules {
			if of.rules == nil && of.tool == indexedText(string(tool)) {
				m.rules[tool] = of.active
			}
		}
	}
}

func (m *memory) has(tenant deed.Tenant, id deed.OperationID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unsettled[rememberedID{tenant, id}] != nil
}

func (m *memory) hasKey(tenant deed.Tenant, key deed.Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.named[rememberedKey{tenant, key.Actor, key.Family, key.Text}] > 0
}

// get returns an operation as a reading would, in memory of its own.
func (m *memory) get(tenant deed.Tenant, id deed.OperationID) *stored {
	m.mu.Lock()
	at := m.unsettled[rememberedID{tenant, id}]
	m.mu.Unlock()
	if at == nil {
		return nil
	}
	own := *at
	own.arguments, own.result = bytes.Clone(at.arguments), bytes.Clone(at.result)
	found, err := own.open()
	if err != nil {
		return nil
	}
	found.remembered = true
	return found
}

// note remembers what was written and has not settled. Of an operation that
// was read with others only its writer's own part is known: it is forgotten.
func (m *memory) note(tenant deed.Tenant, w *writing, events *eventArrays) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, at := range w.order {
		m.drop(rememberedID{tenant, at.ID})
		if (at.fresh || at.remembered) && unresolved(at.Operation) {
			m.keep(rememberedID{tenant, at.ID}, at)
		}
	}
	for _, id := range events.deliveredID {
		m.drop(rememberedID{tenant, deed.OperationID(givenText(id))})
	}
}

func (m *memory) keep(id rememberedID, at *stored) {
	r := &row{record: at.document, receipts: at.lines, arguments: bytes.Clone(at.Arguments), result: bytes.Clone(at.Result)}
	if len(r.record)+len(r.receipts)+len(r.arguments)+len(r.result) > largestRemembered {
		return
	}
	r.revision, r.payload, r.deliveredAt = at.revision, at.payload, micros(at.DeliveredAt)
	if !at.fresh {
		r.revision++
	}
	for other := range m.unsettled {
		if len(m.unsettled) < mostRemembered {
			break
		}
		m.drop(other)
	}
	r.named = keyOf(id.tenant, at.Key)
	m.unsettled[id] = r
	m.named[r.named]++
}

func keyOf(tenant deed.Tenant, key deed.Key) rememberedKey {
	return rememberedKey{tenant, key.Actor, key.Family, strings.Clone(key.Text)}
}

func (m *memory) drop(id rememberedID) {
	at := m.unsettled[id]
	if at == nil {
		return
	}
	delete(m.unsettled, id)
	if m.named[at.named]--; m.named[at.named] == 0 {
		delete(m.named, at.named)
	}
}

// clear drops all operations.
func (m *memory) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.unsettled)
	clear(m.named)
}

// forget drops what a transaction was about that may have failed.
func (m *memory) forget(tenant deed.Tenant, w *writing) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, at := range w.order {
		m.drop(rememberedID{tenant, at.ID})
	}
}
