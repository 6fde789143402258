// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
	"github.com/deed-run/deed/storetest"
)

// TestMemoryNeverDiffersFromTheFile lets two ledgers on one file, foreign to each
// other as two processes are, write and read in any order. What either answers
// is what the reference store has.
func TestMemoryNeverDiffersFromTheFile(t *testing.T) {
	serial, folder := 0, t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		serial++
		clock := storetest.NewClock(time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC))
		path := filepath.Join(folder, fmt.Sprintf("hot-%d.db", serial))
		stores := []deed.Store{storetest.NewMemory(clock)}
		for range 2 {
			// Room for a few operations only, so that some are forgotten.
			l, err := sqlite.Open(context.Background(), path, sqlite.Options{Clock: clock, Memory: 16 * 2500})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			stores = append(stores, l)
		}
		w := &twoLedgers{stores: stores, clock: clock}
		t.Repeat(map[string]func(*rapid.T){
			"begin": w.begin, "settle": w.settle, "deliver": w.deliver, "diverge": w.diverge, "trim": w.trim,
			"read": w.read, "read again": w.read, "read by id": w.readByID,
		})
	})
}

// twoLedgers are the reference store and two ledgers on one file.
type twoLedgers struct {
	stores []deed.Store
	clock  *storetest.Clock
	count  int
}

func (w *twoLedgers) id(t *rapid.T) (deed.OperationID, deed.Key) {
	if w.count == 0 {
		t.Skip("nothing was begun")
	}
	return w.named(rapid.IntRange(1, w.count).Draw(t, "operation"))
}

func (w *twoLedgers) named(n int) (deed.OperationID, deed.Key) {
	key := deed.Key{Family: deed.FamilyOperation, Text: fmt.Sprintf("refund:order-%04d", n), Generation: 1, Provenance: deed.ProvenanceRuntime}
	return deed.OperationID(fmt.Sprintf("op_01KYM9H5G0NEQ9XCBT9744W%03d", n)), key
}

// write applies a change to the reference and, through one of the ledgers, to
// the file.
func (w *twoLedgers) write(t *rapid.T, scope deed.Scope, change func(deed.View) (deed.Change, error)) {
	through := rapid.IntRange(1, 2).Draw(t, "ledger")
	for _, store := range []deed.Store{w.stores[0], w.stores[through]} {
		if _, err := store.Transact(context.Background(), scope, change); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *twoLedgers) begin(t *rapid.T) {
	w.count++
	id, key := w.named(w.count)
	w.write(t, deed.Scope{Tenant: "acme", Keys: []deed.Key{key}}, func(view deed.View) (deed.Change, error) {
		return deed.Change{Put: []*deed.Operation{{
			ID: id, Tenant: "acme", Actor: "agent", Key: key, Tool: "pay/refund", Effect: deed.EffectNonIdempotent,
			Fingerprint: deed.Fingerprint("sha256:" + id), FingerprintRules: "r", RulesHash: "h", PayloadDigest: "p",
			Arguments: []byte(`{"amount":12}`), Status: deed.StatusExecuting, LeaseExpiresAt: view.Now.Add(time.Minute),
			Attempts: []deed.Attempt{{Number: 1, Nonce: "n", BegunAt: view.Now}}, CreatedAt: view.Now, Version: 1,
		}}}, nil
	})
}

// move changes an operation where it stands in the given status.
func (w *twoLedgers) move(t *rapid.T, in deed.Status, change func(op *deed.Operation, now time.Time)) {
	id, _ := w.id(t)
	w.write(t, deed.Scope{Tenant: "acme", ID: id}, func(view deed.View) (deed.Change, error) {
		if view.Operation.Status != in {
			return deed.Change{}, nil
		}
		next := *view.Operation
		next.Version++
		change(&next, view.Now)
		return deed.Change{Put: []*deed.Operation{&next}}, nil
	})
}

func (w *twoLedgers) settle(t *rapid.T) {
	w.move(t, deed.StatusExecuting, func(op *deed.Operation, now time.Time) {
		op.Status, op.LeaseExpiresAt, op.SettledAt, op.RetainUntil = deed.StatusCommitted, time.Time{}, now, now.Add(time.Hour)
		op.Receipts = []deed.Receipt{{RemoteID: "re_1", OperationID: op.ID, Attempt: 1, CommittedAt: now}}
		op.Result, op.ResultDigest = []byte(`{"id":"re_1"}`), "d"
	})
}

func (w *twoLedgers) diverge(t *rapid.T) {
	w.move(t, deed.StatusCommitted, func(op *deed.Operation, now time.Time) {
		op.Diverged = true
		op.Receipts = append(op.Receipts[:len(op.Receipts):len(op.Receipts)], deed.Receipt{RemoteID: fmt.Sprintf("re_%d", op.Version), OperationID: op.ID, CommittedAt: now})
	})
}

func (w *twoLedgers) deliver(t *rapid.T) {
	id, _ := w.id(t)
	through := rapid.IntRange(1, 2).Draw(t, "ledger")
	event := deed.Event{ID: "ev_01KYM9H5G0NEQ9XCBT9744WMJH", Tenant: "acme", OperationID: id, At: w.clock.Now(), Name: deed.Delivered}
	for _, store := range []deed.Store{w.stores[0], w.stores[through]} {
		if err := store.Append(context.Background(), []deed.Event{event}, deed.Durable); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *twoLedgers) trim(t *rapid.T) {
	w.clock.Advance(time.Duration(rapid.IntRange(0, 90).Draw(t, "minutes")) * time.Minute)
	through := rapid.IntRange(1, 2).Draw(t, "ledger")
	for _, store := range []deed.Store{w.stores[0], w.stores[through]} {
		if _, err := store.Trim(context.Background(), w.clock.Now(), 100); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *twoLedgers) read(t *rapid.T) {
	_, key := w.id(t)
	w.compare(t, deed.Scope{Tenant: "acme", Keys: []deed.Key{key}})
}

func (w *twoLedgers) readByID(t *rapid.T) {
	id, _ := w.id(t)
	w.compare(t, deed.Scope{Tenant: "acme", ID: id})
}

func (w *twoLedgers) compare(t *rapid.T, scope deed.Scope) {
	want, err := w.stores[0].Load(context.Background(), scope)
	if err != nil {
		t.Fatal(err)
	}
	for i, store := range w.stores[1:] {
		got, err := store.Load(context.Background(), scope)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("ledger %d:\n%s", i+1, diff)
		}
	}
}
