// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"time"

	"github.com/deed-run/deed"
)

func (f *fixture) trim(now time.Time, limit int) int {
	f.Helper()
	n, err := f.store.Trim(f.context(), now, limit)
	if err != nil {
		f.Fatalf("Trim: %v", err)
	}
	return n
}

func withResult(op *deed.Operation) {
	op.Result, op.ResultDigest = []byte("a result"), digestOf("a result")
}

var trimCases = []testCase{
	{"retention takes arguments and results and leaves the rest", func(f *fixture) {
		op := f.with(deed.StatusCommitted, withResult)
		f.append(deed.Durable, f.event(op, deed.EventSucceeded))
		f.equal("too early", f.trim(op.RetainUntil, 10), 0)
		f.equal("before", f.get(op.ID), op)
		f.equal("trimmed", f.trim(op.RetainUntil.Add(time.Microsecond), 10), 1)
		want := copyOperation(op)
		want.Arguments, want.Result = nil, nil
		f.equal("after", f.get(op.ID), want)
		f.equal("events", len(f.events(deed.EventQuery{Tenant: tenant})), 1)
		f.equal("again", f.trim(op.RetainUntil.Add(time.Hour), 10), 0)
	}},
	{"only settled operations are trimmed", func(f *fixture) {
		far := f.clock.Now().Add(10000 * time.Hour)
		trimmed := map[deed.Status]bool{
			deed.StatusCommitted: true, deed.StatusFailed: true, deed.StatusDenied: true, deed.StatusCancelled: true, deed.StatusExpired: true,
		}
		var all []*deed.Operation
		for _, status := range deed.Statuses() {
			all = append(all, f.with(status, func(op *deed.Operation) { withResult(op); op.RetainUntil = f.clock.Now() }))
		}
		retryable := f.with(deed.StatusFailed, func(op *deed.Operation) { withResult(op); op.Retryable, op.RetainUntil = true, f.clock.Now() })
		abandoned := f.with(deed.StatusUncertain, func(op *deed.Operation) { withResult(op); op.Reason = deed.ReasonAbandoned })
		unbounded := f.with(deed.StatusCommitted, func(op *deed.Operation) { withResult(op); op.RetainUntil = time.Time{} })
		f.equal("trimmed", f.trim(far, 100), len(trimmed))
		for _, op := range all {
			if gone := f.get(op.ID).Arguments == nil; gone != trimmed[op.Status] {
				f.Errorf("%s: arguments gone is %v", op.Status, gone)
			}
		}
		for _, op := range []*deed.Operation{retryable, abandoned, unbounded} {
			f.equal("kept", f.get(op.ID), op)
		}
	}},
	{"one call trims no more than its limit", func(f *fixture) {
		for range 5 {
			f.with(deed.StatusCommitted, withResult)
		}
		far := f.clock.Now().Add(10000 * time.Hour)
		f.equal("first", f.trim(far, 3), 3)
		f.equal("second", f.trim(far, 3), 2)
		f.equal("third", f.trim(far, 3), 0)
	}},
	{"what moved on after it settled is trimmed by its new state", func(f *fixture) {
		op := f.with(deed.StatusFailed, nil)
		f.move(op.ID, func(op *deed.Operation) {
			toStatus(op, deed.StatusExecuting, f.clock.Now())
		})
		far := f.clock.Now().Add(10000 * time.Hour)
		f.equal("executing", f.trim(far, 10), 0)
		f.move(op.ID, func(op *deed.Operation) { toStatus(op, deed.StatusCommitted, f.clock.Now()) })
		f.equal("committed", f.trim(far, 10), 1)
	}},
	{"a proof that comes after the trim brings its result", func(f *fixture) {
		op := f.with(deed.StatusFailed, nil)
		far := f.clock.Now().Add(10000 * time.Hour)
		f.trim(far, 10)
		f.move(op.ID, func(op *deed.Operation) { toStatus(op, deed.StatusCommitted, f.clock.Now()); withResult(op) })
		f.equal("result", f.get(op.ID).Result, []byte("a result"))
		f.equal("trimmed again", f.trim(far, 10), 1)
	}},
}

func (f *fixture) set(name string, value []byte) []byte {
	f.Helper()
	got, err := f.store.Setting(f.context(), name, func([]byte) []byte { return value })
	if err != nil {
		f.Fatalf("Setting: %v", err)
	}
	return got
}

func (f *fixture) setting(name string) []byte {
	f.Helper()
	got, err := f.store.Setting(f.context(), name, nil)
	if err != nil {
		f.Fatalf("Setting: %v", err)
	}
	return got
}

var settingCases = []testCase{
	{"a setting is nothing until it is set", func(f *fixture) {
		if got := f.setting("secret/x"); got != nil {
			f.Errorf("got %q", got)
		}
	}},
	{"a setting is read, replaced and left alone", func(f *fixture) {
		value := []byte("\x00one\xff")
		f.equal("set", f.set("secret/x", value), value)
		f.equal("read", f.setting("secret/x"), value)
		f.equal("of another name", f.setting("secret/X"), []byte(nil))
		var old []byte
		got, err := f.store.Setting(f.context(), "secret/x", func(was []byte) []byte { old = was; return nil })
		if err != nil {
			f.Fatal(err)
		}
		f.equal("the old value", old, value)
		f.equal("left alone", got, value)
		f.equal("replaced", f.set("secret/x", []byte("two")), []byte("two"))
		f.equal("read again", f.setting("secret/x"), []byte("two"))
	}},
	{"an empty value is a value", func(f *fixture) {
		f.set("x", []byte{})
		if got := f.setting("x"); got == nil {
			f.Error("it is gone")
		}
	}},
}

var tenantCases = []testCase{
	{"nothing of one tenant is seen or touched by another", func(f *fixture) {
		op := f.with(deed.StatusUncertain, nil)
		conflict := f.event(op, deed.EventName(deed.Conflict))
		f.append(deed.Durable, conflict)
		view := f.load(deed.Scope{
			Tenant: "other", Keys: []deed.Key{op.Key}, Tool: op.Tool, Lineage: true, Later: true,
			Fingerprints: []deed.Fingerprint{op.Fingerprint}, Matters: []deed.Matter{op.Matter},
		})
		f.equal("by key and as a twin", view, deed.View{Now: start})
		f.equal("by id", f.load(deed.Scope{Tenant: "other", ID: op.ID}), deed.View{Now: start})
		f.equal("listed", len(f.list(deed.Query{Tenant: "other"}).Operations), 0)
		f.equal("by a key in a listing", len(f.list(deed.Query{Tenant: "other", Key: op.Key.Text}).Operations), 0)
		f.equal("events", len(f.events(deed.EventQuery{Tenant: "other"})), 0)
		f.equal("events of the operation", len(f.events(deed.EventQuery{Tenant: "other", Operation: op.ID})), 0)
		if _, err := f.store.Events(f.context(), deed.EventQuery{Tenant: "other", After: conflict.ID}); err == nil {
			f.Error("another tenant's event is a place to go on from")
		}
	}},
	{"two tenants may use the same key, and even the same id", func(f *fixture) {
		op := f.with(deed.StatusExecuting, nil)
		same := copyOperation(op)
		same.Tenant, same.Matter = "other", `["theirs"]`
		f.put(same)
		f.equal("ours", f.load(deed.Scope{Tenant: tenant, Keys: []deed.Key{op.Key}}).Operation, op)
		f.equal("theirs", f.load(deed.Scope{Tenant: "other", Keys: []deed.Key{op.Key}}).Operation, same)
	}},
	{"a change writes no operation of another tenant", func(f *fixture) {
		op := f.operation()
		_, err := f.store.Transact(f.context(), deed.Scope{Tenant: "other", ID: op.ID}, func(deed.View) (deed.Change, error) {
			return deed.Change{Put: []*deed.Operation{op}}, nil
		})
		if err == nil || f.get(op.ID) != nil {
			f.Errorf("err = %v", err)
		}
	}},
}
