// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"slices"

	"github.com/deed-run/deed"
)

// binding is what is unique about a key within a tenant.
type binding struct {
	actor      deed.Actor
	family     deed.Family
	text       string
	generation int
}

func bindingOf(key deed.Key) binding {
	return binding{key.Actor, key.Family, key.Text, key.Generation}
}

// writing is what the jobs of one transaction write.
type writing struct {
	puts   map[deed.OperationID]*stored
	order  []*stored
	keys   map[binding]deed.OperationID
	binds  []deed.Binding
	events []deed.Event
}

func newWriting() *writing {
	return &writing{puts: map[deed.OperationID]*stored{}, keys: map[binding]deed.OperationID{}}
}

// overlaps reports whether a change touches what another job of the
// transaction writes already.
func (w *writing) overlaps(wanted deed.Change) bool {
	for _, op := range wanted.Put {
		if _, taken := w.puts[op.ID]; taken {
			return true
		}
		if _, taken := w.keys[bindingOf(op.Key)]; taken {
			return true
		}
	}
	for _, alias := range wanted.Bind {
		if _, taken := w.keys[bindingOf(alias.Key)]; taken {
			return true
		}
	}
	return false
}

// add takes a change in, whole or not at all.
func (w *writing) add(q *request, wanted deed.Change) error {
	one := newWriting()
	for _, op := range wanted.Put {
		if err := one.put(q, op); err != nil {
			return err
		}
	}
	for _, alias := range wanted.Bind {
		if err := one.bind(alias.Key, alias.Operation); err != nil {
			return err
		}
	}
	for id, at := range one.puts {
		w.puts[id] = at
	}
	for key, id := range one.keys {
		w.keys[key] = id
	}
	w.order = append(w.order, one.order...)
	w.binds = append(w.binds, one.binds...)
	w.events = append(w.events, wanted.Events...)
	return nil
}

// put moves one operation on, from what the request saw or from what the same
// change put before.
func (w *writing) put(q *request, op *deed.Operation) error {
	if op.Tenant != q.scope.Tenant {
		return fmt.Errorf("operation %s is of tenant %q, the transaction of %q; nothing was written", op.ID, op.Tenant, q.scope.Tenant)
	}
	at, known := w.puts[op.ID]
	if !known {
		seen := q.seen[op.ID]
		if seen == nil {
			at = &stored{Operation: op, revision: 1, fresh: true, payload: op.Arguments != nil || op.Result != nil}
			w.puts[op.ID], w.order = at, append(w.order, at)
			return w.bind(op.Key, op.ID)
		}
		before := *seen
		at = &before
		w.puts[op.ID], w.order = at, append(w.order, at)
	}
	if op.Version < at.Version {
		return fmt.Errorf("operation %s is at version %d: %w; nothing was written", op.ID, at.Version, deed.ErrVersion)
	}
	at.move(op)
	return nil
}

// move makes op the state to be written. What identifies the operation stays,
// and so do its receipts.
func (at *stored) move(op *deed.Operation) {
	next, before := *op, at.Operation
	next.Key, next.Actor, next.CreatedAt = before.Key, before.Actor, before.CreatedAt
	have := len(before.Receipts)
	next.Receipts = append(slices.Clip(before.Receipts), op.Receipts[min(have, len(op.Receipts)):]...)
	hadOther := at.payload
	if op.PayloadDigest != before.PayloadDigest {
		at.newArguments = true
	} else {
		next.Arguments = before.Arguments
	}
	if op.ResultDigest != before.ResultDigest {
		at.newResult = true
	} else {
		next.Result = before.Result
	}
	// Of an operation that was read without bytes only their presence is
	// known; retention looks again.
	at.payload = next.Arguments != nil || next.Result != nil || hadOther && !(at.newArguments && at.newResult) && before.Arguments == nil && before.Result == nil
	at.Operation, at.dirty = &next, true
}

// bind makes a key name an operation.
func (w *writing) bind(key deed.Key, id deed.OperationID) error {
	holder, taken := w.keys[bindingOf(key)]
	if taken && holder != id {
		return keyTaken(id)
	}
	if !taken {
		w.keys[bindingOf(key)] = id
		w.binds = append(w.binds, deed.Binding{Key: key, Operation: id})
	}
	return nil
}

func keyTaken(id deed.OperationID) error {
	return fmt.Errorf("a key of %s is taken: %w; nothing was written", id, deed.ErrKeyTaken)
}

// steps write everything.
func (w *writing) steps(tenant string, writer int64, place int) ([]step, error) {
	var inserts, updates columns
	for _, at := range w.order {
		into := &updates
		if at.fresh {
			into = &inserts
		}
		if err := into.add(at); err != nil {
			return nil, err
		}
	}
	var steps []step
	if len(updates.id) > 0 {
		args := append(updates.values(tenant), updates.newArguments, updates.newResult)
		args[0] = repeat(tenant, len(updates.id))
		steps = append(steps, step{sql: sqlUpdateOperations, rows: len(updates.id), args: args})
	}
	if len(inserts.id) > 0 {
		steps = append(steps, step{sql: sqlInsertOperations, rows: len(inserts.id), args: inserts.values(tenant)})
	}
	if len(w.binds) > 0 {
		var keys bindArrays
		for _, b := range w.binds {
			keys.add(b.Key, b.Operation)
		}
		steps = append(steps, step{sql: sqlBindKeys, rows: len(w.binds), args: []any{tenant, int64(len(w.binds)), keys.text, keys.family, keys.actor,
			keys.generation, keys.provenance, keys.operation}})
	}
	steps = append(steps, w.moneySteps(tenant)...)
	var events eventArrays
	for i := range w.events {
		events.add(place+i, &w.events[i])
	}
	return append(steps, events.steps(tenant, writer)...), nil
}

func repeat(text string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = text
	}
	return list
}

// strangers are operations that a change binds keys to without having seen
// them.
func strangers(q *request, wanted deed.Change) []string {
	var ids []string
	for _, alias := range wanted.Bind {
		put := slices.ContainsFunc(wanted.Put, func(op *deed.Operation) bool { return op.ID == alias.Operation })
		if q.seen[alias.Operation] == nil && !put {
			ids = append(ids, indexedText(string(alias.Operation)))
		}
	}
	return ids
}
