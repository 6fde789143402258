// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deed-run/deed"
)

var eventCases = []testCase{
	{"events are kept whole, in the order in which they were written", func(f *fixture) {
		op := f.operation()
		first, second := f.event(op, deed.EventProposed), f.event(op, deed.EventBegun)
		first.ID, second.ID = second.ID, first.ID
		f.transact(deed.Scope{Tenant: tenant, ID: op.ID}, deed.Change{Put: []*deed.Operation{op}, Events: []deed.Event{first, second}})
		bare := deed.Event{ID: eventID(999), Tenant: tenant, At: f.clock.Now(), Name: "denied"}
		f.append(deed.Durable, bare)
		f.equal("all", f.events(deed.EventQuery{Tenant: tenant}), []deed.Event{first, second, bare})
		f.equal("of the operation", f.events(deed.EventQuery{Tenant: tenant, Operation: op.ID}), []deed.Event{first, second})
		f.equal("by name", f.events(deed.EventQuery{Tenant: tenant, Name: deed.EventBegun}), []deed.Event{second})
	}},
	{"a listing goes on after an event", func(f *fixture) {
		op := f.with(deed.StatusExecuting, nil)
		var all []deed.Event
		for range 7 {
			all = append(all, f.event(op, deed.EventUndetermined))
		}
		f.append(deed.Durable, all...)
		for _, operation := range []deed.OperationID{"", op.ID} {
			var got []deed.Event
			query := deed.EventQuery{Tenant: tenant, Operation: operation, Limit: 3}
			for {
				page := f.events(query)
				if len(page) == 0 {
					break
				}
				got = append(got, page...)
				query.After = page[len(page)-1].ID
			}
			f.equal("all pages", got, all)
		}
		_, err := f.store.Events(f.context(), deed.EventQuery{Tenant: tenant, After: eventID(12345)})
		if !errors.Is(err, deed.ErrNotFound) {
			f.Errorf("after an event that is not there: %v, want ErrNotFound", err)
		}
	}},
	{"batched events are there after the next transaction, before what it wrote", func(f *fixture) {
		op := f.operation()
		var want []deed.Event
		for i := range 100 {
			want = append(want, f.event(op, deed.EventName(fmt.Sprintf("n%d", i))))
			f.append(deed.Batched, want[i])
		}
		last := f.event(op, deed.EventBegun)
		f.transact(deed.Scope{Tenant: tenant, ID: op.ID}, deed.Change{Put: []*deed.Operation{op}, Events: []deed.Event{last}})
		f.equal("all", f.events(deed.EventQuery{Tenant: tenant}), append(want, last))
	}},
	{"batched and durable events keep their order", func(f *fixture) {
		op := f.with(deed.StatusExecuting, nil)
		first, second := f.event(op, "one"), f.event(op, "two")
		f.append(deed.Batched, first)
		f.append(deed.Durable, second)
		f.equal("all", f.events(deed.EventQuery{Tenant: tenant}), []deed.Event{first, second})
	}},
	{"nothing to append is no error", func(f *fixture) {
		f.append(deed.Durable)
		f.append(deed.Batched)
	}},
}

var deliveredCases = []testCase{
	{"a delivered event marks its operation once and changes no version", func(f *fixture) {
		op := f.with(deed.StatusCommitted, nil)
		f.clock.Advance(time.Minute)
		first := f.event(op, deed.Delivered)
		f.append(deed.Batched, first)
		f.clock.Advance(time.Minute)
		f.append(deed.Durable, f.event(op, deed.Delivered))
		op.DeliveredAt = first.At
		f.equal("the operation", f.get(op.ID), op)
	}},
	{"a batched delivery is seen by the next transaction", func(f *fixture) {
		op := f.with(deed.StatusCommitted, nil)
		f.append(deed.Batched, f.event(op, deed.Delivered))
		view := f.transact(deed.Scope{Tenant: tenant, ID: operationID(77), Tool: op.Tool, Fingerprints: []deed.Fingerprint{op.Fingerprint}}, deed.Change{})
		f.equal("delivered", view.Twins[0].Delivered(), true)
	}},
	{"a delivery may be part of a change", func(f *fixture) {
		op := f.operation()
		toStatus(op, deed.StatusCommitted, f.clock.Now())
		f.transact(deed.Scope{Tenant: tenant, ID: op.ID}, deed.Change{Put: []*deed.Operation{op}, Events: []deed.Event{f.event(op, deed.Delivered)}})
		f.equal("delivered", f.get(op.ID).DeliveredAt, f.clock.Now())
	}},
	{"delivering what is unknown or not committed does no harm", func(f *fixture) {
		unknown := f.operation()
		f.append(deed.Durable, f.event(unknown, deed.Delivered))
		op := f.with(deed.StatusFailed, nil)
		f.append(deed.Durable, f.event(op, deed.Delivered))
		f.equal("status", f.get(op.ID).Status, deed.StatusFailed)
	}},
}

var watchCases = []testCase{
	{"a version that is already there is returned at once", func(f *fixture) {
		op := f.with(deed.StatusExecuting, nil)
		version, err := f.store.Watch(f.context(), tenant, op.ID, 0)
		if version != 1 || err != nil {
			f.Errorf("Watch = %d, %v", version, err)
		}
	}},
	{"everyone who waits hears of the change", func(f *fixture) {
		op, other := f.with(deed.StatusExecuting, nil), f.with(deed.StatusExecuting, nil)
		heard := make(chan error)
		const waiters = 20
		for range waiters {
			go func() {
				version, err := f.store.Watch(f.context(), tenant, op.ID, 1)
				if err == nil && version != 2 {
					err = fmt.Errorf("version %d, want 2", version)
				}
				heard <- err
			}()
		}
		f.move(other.ID, func(op *deed.Operation) {})
		f.move(op.ID, func(op *deed.Operation) { toStatus(op, deed.StatusUncertain, f.clock.Now()) })
		for range waiters {
			if err := <-heard; err != nil {
				f.Error(err)
			}
		}
	}},
	{"waiting ends with its context", func(f *fixture) {
		op := f.with(deed.StatusExecuting, nil)
		ctx, cancel := context.WithTimeout(f.context(), time.Millisecond)
		defer cancel()
		if _, err := f.store.Watch(ctx, tenant, op.ID, 1); !errors.Is(err, context.DeadlineExceeded) {
			f.Errorf("err = %v, want DeadlineExceeded", err)
		}
	}},
	{"what does not exist cannot be watched", func(f *fixture) {
		if _, err := f.store.Watch(f.context(), tenant, operationID(1), 0); !errors.Is(err, deed.ErrNotFound) {
			f.Errorf("err = %v, want ErrNotFound", err)
		}
	}},
}
