// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

// Memory is the reference store: one mutex, maps, deep copies. It keeps what
// it is given for as long as the value lives, so several Runtimes over one
// Memory behave like processes over one ledger.
//
// Times are kept to the microsecond, as every ledger keeps them.
type Memory struct {
	clock deed.Clock

	mu         sync.Mutex
	operations map[identifier]*deed.Operation
	keys       map[binding]bound
	events     []deed.Event
	settings   map[string][]byte
	consents   map[consentName]deed.OperationID
	// changed is closed and replaced whenever a write is done.
	changed chan struct{}
}

// identifier names an operation within a tenant.
type identifier struct {
	tenant deed.Tenant
	id     deed.OperationID
}

// binding is what is unique about a key.
type binding struct {
	tenant     deed.Tenant
	actor      deed.Actor
	family     deed.Family
	text       string
	generation int
}

// bound is what a key leads to.
type bound struct {
	key deed.Key
	id  deed.OperationID
}

func bindingOf(tenant deed.Tenant, key deed.Key) binding {
	return binding{tenant, key.Actor, key.Family, key.Text, key.Generation}
}

// NewMemory returns an empty store that reads its time from clock.
func NewMemory(clock deed.Clock) *Memory {
	return &Memory{
		clock:      clock,
		operations: map[identifier]*deed.Operation{},
		keys:       map[binding]bound{},
		settings:   map[string][]byte{},
		consents:   map[consentName]deed.OperationID{},
		changed:    make(chan struct{}),
	}
}

// Transact implements deed.Store.
func (m *Memory) Transact(ctx context.Context, scope deed.Scope, change func(deed.View) (deed.Change, error)) (deed.View, error) {
	if err := ctx.Err(); err != nil {
		return deed.View{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	view := m.view(scope)
	// change gets its own copy, so that nothing it does reaches the view that
	// is returned or the records.
	wanted, err := change(copyView(view))
	if err != nil {
		return view, err
	}
	if err := m.check(scope.Tenant, view, wanted); err != nil {
		return view, err
	}
	m.write(scope.Tenant, wanted)
	return view, nil
}

// Load implements deed.Store.
func (m *Memory) Load(ctx context.Context, scope deed.Scope) (deed.View, error) {
	if err := ctx.Err(); err != nil {
		return deed.View{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.view(scope), nil
}

// check refuses a change before anything of it is written.
func (m *Memory) check(tenant deed.Tenant, view deed.View, wanted deed.Change) error {
	seen := map[deed.OperationID]int64{}
	for _, op := range inView(view) {
		seen[op.ID] = op.Version
	}
	coming := map[binding]deed.OperationID{}
	for _, op := range wanted.Put {
		stored := m.operations[identifier{tenant, op.ID}]
		switch {
		case op.Tenant != tenant:
			return fmt.Errorf("operation %s is of tenant %q, the transaction of %q; nothing was written", op.ID, op.Tenant, tenant)
		case stored == nil:
			if err := m.claim(coming, tenant, op.Key, op.ID); err != nil {
				return err
			}
		case stored.Version != seen[op.ID] || op.Version < stored.Version:
			return fmt.Errorf("operation %s is at version %d: %w; nothing was written", op.ID, stored.Version, deed.ErrVersion)
		}
		if err := m.checkConsents(op); err != nil {
			return err
		}
	}
	for _, alias := range wanted.Bind {
		if err := m.claim(coming, tenant, alias.Key, alias.Operation); err != nil {
			return err
		}
	}
	return nil
}

// claim notes that a key is about to name an operation.
func (m *Memory) claim(coming map[binding]deed.OperationID, tenant deed.Tenant, key deed.Key, id deed.OperationID) error {
	b := bindingOf(tenant, key)
	holder, taken := coming[b]
	if at, known := m.keys[b]; known {
		holder, taken = at.id, true
	}
	if taken && holder != id {
		return fmt.Errorf("operation %s already has the key of %s: %w; nothing was written", holder, id, deed.ErrKeyTaken)
	}
	coming[b] = id
	return nil
}

// write applies a change that check has let pass.
func (m *Memory) write(tenant deed.Tenant, wanted deed.Change) {
	for _, op := range wanted.Put {
		next := copyOperation(op)
		stored := m.operations[identifier{tenant, op.ID}]
		if stored == nil {
			m.bind(tenant, op.Key, op.ID)
		} else {
			next.Key = stored.Key
			if next.PayloadDigest == stored.PayloadDigest {
				next.Arguments = stored.Arguments
			}
			if next.ResultDigest == stored.ResultDigest {
				next.Result = stored.Result
			}
			known := len(stored.Receipts)
			next.Receipts = append(stored.Receipts[:known:known], next.Receipts[min(known, len(next.Receipts)):]...)
		}
		m.operations[identifier{tenant, op.ID}] = next
		m.spendConsents(next)
	}
	for _, alias := range wanted.Bind {
		m.bind(tenant, alias.Key, alias.Operation)
	}
	m.append(wanted.Events)
	m.notify()
}

// bind leaves a key alone that is there: it names the same operation.
func (m *Memory) bind(tenant deed.Tenant, key deed.Key, id deed.OperationID) {
	b := bindingOf(tenant, key)
	if _, known := m.keys[b]; !known {
		m.keys[b] = bound{key, id}
	}
}

func (m *Memory) append(events []deed.Event) {
	for _, event := range events {
		event = copyEvent(event)
		m.events = append(m.events, event)
		if event.Name != deed.Delivered {
			continue
		}
		if op := m.operations[identifier{event.Tenant, event.OperationID}]; op != nil && op.DeliveredAt.IsZero() {
			op.DeliveredAt = event.At
		}
	}
}

func (m *Memory) notify() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// Append implements deed.Store; everything is durable at once here.
func (m *Memory) Append(ctx context.Context, events []deed.Event, _ deed.Durability) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.append(events)
	return nil
}

// Watch implements deed.Store.
func (m *Memory) Watch(ctx context.Context, tenant deed.Tenant, id deed.OperationID, version int64) (int64, error) {
	for {
		m.mu.Lock()
		op, changed := m.operations[identifier{tenant, id}], m.changed
		if op == nil {
			m.mu.Unlock()
			return 0, fmt.Errorf("operation %s cannot be watched: %w", id, deed.ErrNotFound)
		}
		now := op.Version
		m.mu.Unlock()
		if now > version {
			return now, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// Trim implements deed.Store.
func (m *Memory) Trim(ctx context.Context, now time.Time, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	trimmed := 0
	for _, op := range m.operations {
		if trimmed == limit {
			break
		}
		if !settled(op) || op.RetainUntil.IsZero() || !op.RetainUntil.Before(now) {
			continue
		}
		if op.Arguments == nil && op.Result == nil {
			continue
		}
		op.Arguments, op.Result = nil, nil
		trimmed++
	}
	return trimmed, nil
}

// settled reports whether nothing but a proof can move the operation.
func settled(op *deed.Operation) bool {
	switch op.State() {
	case deed.StateCommitted, deed.StateFailedFinal, deed.StateDenied, deed.StateCancelled, deed.StateExpired:
		return true
	}
	return false
}

// Setting implements deed.Store.
func (m *Memory) Setting(ctx context.Context, name string, update func(old []byte) []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	value := m.settings[name]
	if update != nil {
		if next := update(slices.Clone(value)); next != nil {
			value = slices.Clone(next)
			m.settings[name] = value
		}
	}
	return slices.Clone(value), nil
}
