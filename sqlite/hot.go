// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"bytes"
	"maps"
	"slices"
	"sync"

	"github.com/deed-run/deed"
)

// hot keeps operations in memory that this process wrote or read a moment ago:
// attempts that are about to be settled, and commits that are asked for again
// and again.
//
// An entry is as good as the file while the header of the log's index is the
// one after this process's latest commit: every commit, of whichever process,
// changes it. A commit of another process empties the cache.
type hot struct {
	limit int

	mu sync.RWMutex
	// index is nil while nothing may be answered from memory.
	index *logIndex
	// state is the header up to which the entries are current.
	state   logHeader
	entries map[watchedID]*hotEntry
	names   map[hotName]*hotEntry
	size    int
}

// hotEntry is one operation with the keys that it was found by.
type hotEntry struct {
	stored
	names []hotName
	size  int
}

// hotName is a key within a tenant, with the provenance that it was bound with.
type hotName struct {
	tenant     deed.Tenant
	actor      deed.Actor
	family     deed.Family
	text       string
	generation int
	provenance deed.Provenance
}

// entryOverhead is about what an operation takes beside its payload.
const entryOverhead = 2 << 10

func newHot(limit int) *hot {
	return &hot{limit: limit, entries: map[watchedID]*hotEntry{}, names: map[hotName]*hotEntry{}}
}

// watch begins to follow the log beside the ledger at path, whose writing
// connection is open: while it is, nobody removes the log.
func (h *hot) watch(path string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clear()
	h.index.shut()
	h.index = openLogIndex(path)
	h.state, _ = h.index.header()
}

// forget answers nothing from memory any more, until watch is called.
func (h *hot) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clear()
	h.index.shut()
	h.index = nil
	h.state = logHeader{}
}

// clear removes every entry. The caller holds mu.
func (h *hot) clear() {
	clear(h.entries)
	clear(h.names)
	h.size = 0
}

// mark returns the state that entries read from now on belong to, false when
// memory and file disagree.
func (h *hot) mark() (logHeader, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.agrees()
}

// agrees compares memory and file. The caller holds mu.
func (h *hot) agrees() (logHeader, bool) {
	now, readable := h.index.header()
	return now, readable && now == h.state
}

// byKey finds a committed operation by the first key of a scope that asks for
// nothing else.
func (h *hot) byKey(scope deed.Scope) (op *deed.Operation, found deed.Key, ok bool) {
	if !plain(scope) {
		return nil, deed.Key{}, false
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	entry := h.names[nameOf(scope.Tenant, scope.Keys[0])]
	if entry == nil || entry.Status != deed.StatusCommitted {
		return nil, deed.Key{}, false
	}
	if _, current := h.agrees(); !current {
		return nil, deed.Key{}, false
	}
	return ownCopy(entry.Operation), scope.Keys[0], true
}

// ownCopy shares nothing with the operation that callers could change.
func ownCopy(op *deed.Operation) *deed.Operation {
	own := *op
	own.Arguments, own.Result = bytes.Clone(op.Arguments), bytes.Clone(op.Result)
	own.Attempts, own.Receipts = slices.Clone(op.Attempts), slices.Clone(op.Receipts)
	for i := range own.Receipts {
		own.Receipts[i].Items = slices.Clone(own.Receipts[i].Items)
	}
	own.Meta = maps.Clone(op.Meta)
	if op.Approval != nil {
		approval := *op.Approval
		approval.Approvers, approval.MayApprove = slices.Clone(approval.Approvers), slices.Clone(approval.MayApprove)
		approval.Votes = slices.Clone(approval.Votes)
		own.Approval = &approval
	}
	for i := range own.Attempts {
		a := &own.Attempts[i]
		a.Bookings = slices.Clone(a.Bookings)
		if a.Marks != nil {
			marks := *a.Marks
			a.Marks = &marks
		}
		if a.Probing != nil {
			probing := *a.Probing
			a.Probing = &probing
		}
	}
	return &own
}

// plain scopes name an operation by key and ask for it alone.
func plain(scope deed.Scope) bool {
	return scope.ID == "" && len(scope.Keys) > 0 && scope.Keys[0].Generation != 0 &&
		scope.Tool == "" && !scope.Lineage && !scope.Later && len(scope.Budgets) == 0 && scope.Consent == ""
}

// keep takes in a committed operation that was read at a mark.
func (h *hot) keep(mark logHeader, scope deed.Scope, found deed.Key, at stored) {
	if !plain(scope) || at.Operation == nil || at.Status != deed.StatusCommitted || !at.whole ||
		nameOf(scope.Tenant, found) != nameOf(scope.Tenant, scope.Keys[0]) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.index == nil || h.state != mark {
		return
	}
	at.Operation = ownCopy(at.Operation)
	h.add(at, nameOf(scope.Tenant, found))
}

// open returns an operation that this process wrote, for a transaction that
// holds the file's lock and has found memory and file to agree. An attempt that
// is about to be settled is given away: it is not copied for being read once.
func (h *hot) open(tenant deed.Tenant, id deed.OperationID) (stored, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	entry := h.entries[watchedID{tenant, id}]
	if entry == nil {
		return stored{}, false
	}
	at := entry.stored
	if at.Status == deed.StatusExecuting {
		h.drop(watchedID{tenant, id})
		return at, true
	}
	at.Operation = ownCopy(at.Operation)
	return at, true
}

// committed takes in what this process's transaction wrote. wrote says whether
// it added to the log at all.
func (h *hot) committed(jobs []*job, wrote bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, readable := h.index.header()
	steps := uint32(0)
	if wrote {
		steps = 1
	}
	alone := readable && now.changes()-h.state.changes() == steps && !(wrote && now == h.state)
	h.state = now
	if !alone {
		// Another process committed before or after: what this transaction
		// wrote may be behind the file already.
		h.clear()
		return
	}
	for _, j := range jobs {
		if j.err != nil {
			continue
		}
		if j.trimmed {
			h.clear()
		}
		for _, id := range j.delivered {
			h.drop(id)
		}
		for _, at := range j.after {
			h.drop(watchedID{at.Tenant, at.ID})
			if at.whole && at.Status == deed.StatusExecuting {
				at.Operation = ownCopy(at.Operation)
				h.add(at)
			}
		}
	}
}

// add puts an entry in place of the one there was. The caller holds mu.
func (h *hot) add(at stored, names ...hotName) {
	id := watchedID{at.Tenant, at.ID}
	if old := h.entries[id]; old != nil {
		names = append(names, old.names...)
		h.drop(id)
	}
	entry := &hotEntry{stored: at, names: names, size: entryOverhead + len(at.Arguments) + len(at.Result)}
	if entry.size > h.limit/16 {
		return
	}
	for other := range h.entries { // any of them
		if h.size+entry.size <= h.limit {
			break
		}
		h.drop(other)
	}
	h.entries[id] = entry
	h.size += entry.size
	for _, name := range names {
		h.names[name] = entry
	}
}

// drop removes an entry. The caller holds mu.
func (h *hot) drop(id watchedID) {
	entry := h.entries[id]
	if entry == nil {
		return
	}
	delete(h.entries, id)
	h.size -= entry.size
	for _, name := range entry.names {
		delete(h.names, name)
	}
}

func nameOf(tenant deed.Tenant, key deed.Key) hotName {
	return hotName{tenant, key.Actor, key.Family, key.Text, key.Generation, key.Provenance}
}
