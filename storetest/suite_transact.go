// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/deed-run/deed"
)

var transactCases = []testCase{
	{"what was put is loaded whole, by id and by key", func(f *fixture) {
		op := f.with(deed.StatusExecuting, nil)
		f.equal("by id", f.get(op.ID), op)
		view := f.load(deed.Scope{Tenant: tenant, Keys: []deed.Key{op.Key}})
		f.equal("by key", view.Operation, op)
		f.equal("the key found", view.Found, op.Key)
	}},
	{"every status is kept with what belongs to it", func(f *fixture) {
		for _, status := range deed.Statuses() {
			op := f.with(status, func(op *deed.Operation) {
				op.Message, op.DecidedBy, op.Diverged, op.Contradicted = "a message", "jane", true, true
				op.NoMoreAttempts, op.ApprovalLapsed, op.ResultIsError = true, true, true
				op.Retryable = status == deed.StatusFailed
				op.RetryAt, op.ExpiresAt = f.clock.Now().Add(time.Second), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
				op.RequestState, op.Inputs, op.AnsweredState = digestOf("s"), digestOf("i"), digestOf("a")
				op.Supersedes, op.SupersededBy = operationID(900), operationID(901)
				op.Result, op.ResultDigest = []byte(`{"ok":true}`), digestOf("result")
				op.Approval = &deed.Approval{
					Digest: digestOf("d"), ID: "ap_1", ExpiresAt: f.clock.Now().Add(time.Hour),
					Approvers: []string{"jane", "joe"}, SpentAt: f.clock.Now(),
				}
			})
			f.equal(string(status), f.get(op.ID), op)
		}
	}},
	{"the view has the state before the write", func(f *fixture) {
		op := f.with(deed.StatusExecuting, nil)
		next := copyOperation(op)
		toStatus(next, deed.StatusUncertain, f.clock.Now())
		next.Version = 2
		view := f.transact(deed.Scope{Tenant: tenant, ID: op.ID}, deed.Change{Put: []*deed.Operation{next}})
		f.equal("the view", view.Operation, op)
		f.equal("afterwards", f.get(op.ID), next)
	}},
	{"the view's now is the ledger's clock", func(f *fixture) {
		f.clock.Advance(3 * time.Hour)
		view := f.load(deed.Scope{Tenant: tenant, ID: operationID(1)})
		f.equal("now", view.Now, start.Add(3*time.Hour))
		f.clock.Advance(time.Microsecond)
		view = f.transact(deed.Scope{Tenant: tenant, ID: operationID(1)}, deed.Change{})
		f.equal("now", view.Now, start.Add(3*time.Hour+time.Microsecond))
	}},
	{"an error of the change is returned as it is and nothing is written", func(f *fixture) {
		op, mine := f.operation(), errors.New("mine")
		_, err := f.store.Transact(f.context(), deed.Scope{Tenant: tenant, ID: op.ID}, func(deed.View) (deed.Change, error) {
			return deed.Change{Put: []*deed.Operation{op}, Events: []deed.Event{f.event(op, deed.EventBegun)}}, mine
		})
		if err != mine {
			f.Errorf("err = %v, want the change's own", err)
		}
		if f.get(op.ID) != nil {
			f.Error("the operation was written")
		}
		if events := f.events(deed.EventQuery{Tenant: tenant}); len(events) != 0 {
			f.Errorf("events were written: %v", events)
		}
	}},
	{"nothing found is an empty view", func(f *fixture) {
		view := f.load(deed.Scope{Tenant: tenant, Keys: []deed.Key{f.operation().Key}, Lineage: true, Later: true, Tool: "payments/refund",
			Fingerprints: []deed.Fingerprint{"sha256:00"}, Matters: []deed.Matter{`["x"]`, ""}})
		f.equal("the view", view, deed.View{Now: start})
	}},
	{"a change may put several operations, one of them twice", func(f *fixture) {
		first := f.with(deed.StatusExecuting, nil)
		lost := copyOperation(first)
		toStatus(lost, deed.StatusUncertain, f.clock.Now())
		lost.Version = 2
		proved := copyOperation(lost)
		toStatus(proved, deed.StatusCommitted, f.clock.Now())
		proved.Version = 3
		second := f.operation()
		f.transact(deed.Scope{Tenant: tenant, ID: first.ID}, deed.Change{Put: []*deed.Operation{lost, second, proved}})
		f.equal("the first", f.get(first.ID), proved)
		f.equal("the second", f.get(second.ID), second)
	}},
	{"an operation that was not read is not overwritten", func(f *fixture) {
		op := f.with(deed.StatusExecuting, nil)
		next := copyOperation(op)
		_, err := f.store.Transact(f.context(), deed.Scope{Tenant: tenant, ID: operationID(77)}, func(deed.View) (deed.Change, error) {
			return deed.Change{Put: []*deed.Operation{next}}, nil
		})
		if !errors.Is(err, deed.ErrVersion) {
			f.Errorf("err = %v, want ErrVersion", err)
		}
		f.equal("afterwards", f.get(op.ID), op)
	}},
	{"a state older than the stored one is refused, and with it the whole change", func(f *fixture) {
		op := f.with(deed.StatusExecuting, nil)
		stale := f.get(op.ID)
		now := f.move(op.ID, func(op *deed.Operation) { toStatus(op, deed.StatusUncertain, f.clock.Now()) })
		other := f.operation()
		_, err := f.store.Transact(f.context(), deed.Scope{Tenant: tenant, ID: op.ID}, func(deed.View) (deed.Change, error) {
			return deed.Change{Put: []*deed.Operation{other, stale}}, nil
		})
		if !errors.Is(err, deed.ErrVersion) {
			f.Errorf("err = %v, want ErrVersion", err)
		}
		f.equal("afterwards", f.get(op.ID), now)
		if f.get(other.ID) != nil {
			f.Error("the rest of the change was written")
		}
	}},
	{"a renewal keeps the version", func(f *fixture) {
		op := f.with(deed.StatusExecuting, nil)
		renewed := copyOperation(op)
		renewed.LeaseExpiresAt = op.LeaseExpiresAt.Add(time.Minute)
		f.transact(deed.Scope{Tenant: tenant, ID: op.ID}, deed.Change{Put: []*deed.Operation{renewed}})
		f.equal("afterwards", f.get(op.ID), renewed)
	}},
	{"a twin from the view may be put", func(f *fixture) {
		twin := f.with(deed.StatusExecuting, nil)
		scope := deed.Scope{Tenant: tenant, ID: operationID(77), Tool: twin.Tool, Fingerprints: []deed.Fingerprint{twin.Fingerprint}}
		_, err := f.store.Transact(f.context(), scope, func(view deed.View) (deed.Change, error) {
			next := copyOperation(view.Twins[0])
			toStatus(next, deed.StatusUncertain, view.Now)
			next.Version++
			return deed.Change{Put: []*deed.Operation{next}}, nil
		})
		if err != nil {
			f.Fatal(err)
		}
		got := f.get(twin.ID)
		f.equal("status", got.Status, deed.StatusUncertain)
		f.equal("arguments", got.Arguments, twin.Arguments)
	}},
	{"a caller that has left writes and reads nothing", func(f *fixture) {
		op := f.operation()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := f.store.Transact(ctx, deed.Scope{Tenant: tenant, ID: op.ID}, func(deed.View) (deed.Change, error) {
			return deed.Change{Put: []*deed.Operation{op}}, nil
		}); err == nil {
			f.Error("Transact succeeded")
		}
		if f.get(op.ID) != nil {
			f.Error("the operation was written")
		}
		if _, err := f.store.Load(ctx, deed.Scope{Tenant: tenant, ID: op.ID}); !errors.Is(err, context.Canceled) {
			f.Errorf("Load: %v, want context.Canceled", err)
		}
	}},
	{"nothing that a caller does to a view or a change reaches the ledger", func(f *fixture) {
		op := f.with(deed.StatusCommitted, nil)
		want := copyOperation(op)
		spoil := func(op *deed.Operation) {
			op.Arguments[0], op.Meta["run"], op.Attempts[0].Nonce, op.Receipts[0].RemoteID = 'X', "X", "X", "X"
		}
		spoil(op)
		f.equal("after the change was spoilt", f.get(want.ID), want)
		spoil(f.get(want.ID))
		f.equal("after the view was spoilt", f.get(want.ID), want)
	}},
	{"a change that is called again is as good as one", func(f *fixture) {
		// A store may repeat a transaction; the last view counts.
		op := f.operation()
		calls := 0
		_, err := f.store.Transact(f.context(), deed.Scope{Tenant: tenant, ID: op.ID}, func(view deed.View) (deed.Change, error) {
			calls++
			if view.Operation != nil {
				f.Error("an earlier call left something behind")
			}
			return deed.Change{Put: []*deed.Operation{op}, Events: []deed.Event{f.event(op, deed.EventBegun)}}, nil
		})
		if err != nil || calls == 0 {
			f.Fatalf("err = %v after %d calls", err, calls)
		}
		if events := f.events(deed.EventQuery{Tenant: tenant, Operation: op.ID}); len(events) != 1 {
			f.Errorf("%d events, want 1", len(events))
		}
	}},
}
