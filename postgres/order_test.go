// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
)

func TestNoTransactionOvertakesADeliveryThatWasAppendedBefore(t *testing.T) {
	schema := cluster.Schema(t)
	ledger := open(t, schema, postgres.Options{Patience: 30 * time.Second})
	paid := newBenchOperation(1)
	if err := paid.transactBoth(t.Context(), ledger); err != nil {
		t.Fatal(err)
	}
	holder, err := pgx.Connect(t.Context(), schema)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(context.Background())
	tx, err := holder.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT 1 FROM deed_operations WHERE id = $1 FOR UPDATE`, string(paid.id())); err != nil {
		t.Fatal(err)
	}
	event := paid.settle.Events[0]
	event.ID, event.Name = "ev_delivered", deed.Delivered
	if err := ledger.Append(t.Context(), []deed.Event{event}, deed.Batched); err != nil {
		t.Fatal(err)
	}
	// The delivery is on its way, and waits for the row.
	time.Sleep(200 * time.Millisecond)
	var group sync.WaitGroup
	for n := int64(2); n < 42; n++ {
		group.Go(func() {
			if err := begin(t.Context(), ledger, n); err != nil {
				t.Error(err)
			}
			view, err := ledger.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: paid.id()})
			if err != nil {
				t.Error(err)
			} else if !view.Operation.Delivered() {
				t.Errorf("%d was written before the delivery", n)
			}
		})
	}
	time.Sleep(200 * time.Millisecond)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	group.Wait()
}

// Callers name few operations by their ids and by their keys, beside appends
// and begins of others, until the ledger is closed under them.
func TestFewOperationsUnderManyNamesKeepTheirOrder(t *testing.T) {
	const few, callers = 6, 96
	schema := cluster.Schema(t)
	ledger, err := postgres.Open(t.Context(), schema, postgres.Options{Patience: 30 * time.Second, MaxBatch: 40})
	if err != nil {
		t.Fatal(err)
	}
	for n := range int64(few) {
		if err := newBenchOperation(n).transactBoth(t.Context(), ledger); err != nil {
			t.Fatal(err)
		}
	}
	var number atomic.Int64
	var acknowledged [few]atomic.Int64
	number.Store(few)
	move := func(n int64, of benchOperation) error {
		scope := deed.Scope{Tenant: benchTenant, ID: of.id()}
		if n%2 == 0 {
			scope = of.scope
		}
		_, err := ledger.Transact(t.Context(), scope, func(view deed.View) (deed.Change, error) {
			next := *view.Operation
			next.Version++
			event := of.settle.Events[0]
			event.ID, event.Version = deed.EventID(fmt.Sprintf("ev_moved%d", n)), next.Version
			return deed.Change{
				Put: []*deed.Operation{&next}, Events: []deed.Event{event},
				Bind: []deed.Binding{{Key: deed.Key{Family: deed.FamilyOperation, Text: fmt.Sprint("alias", n), Generation: 1, Provenance: deed.ProvenanceRuntime}, Operation: next.ID}},
			}, nil
		})
		return err
	}
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for err := error(nil); err == nil; {
				n := number.Add(1)
				of := newBenchOperation(n % few)
				switch n % 8 {
				case 0, 1, 2:
					if err = move(n, of); err == nil {
						acknowledged[n%few].Add(1)
					}
				case 3:
					event := of.settle.Events[0]
					event.ID, event.Name = deed.EventID(fmt.Sprintf("ev_told%d", n)), deed.Delivered
					err = ledger.Append(t.Context(), []deed.Event{event}, deed.Durability(n/8%2))
				default:
					err = newBenchOperation(n).transactBoth(t.Context(), ledger)
				}
				if err != nil && !errors.Is(err, deed.ErrClosed) {
					t.Error(err)
				}
			}
		})
	}
	time.Sleep(2 * time.Second)
	if err := ledger.Close(); err != nil {
		t.Error(err)
	}
	group.Wait()
	after := open(t, schema, postgres.Options{})
	for n := range int64(few) {
		id := newBenchOperation(n).id()
		view, err := after.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: id})
		if err != nil {
			t.Fatal(err)
		}
		if want := 2 + acknowledged[n].Load(); view.Operation.Version != want {
			t.Errorf("%s is at version %d, want %d", id, view.Operation.Version, want)
		}
		events, err := after.Events(t.Context(), deed.EventQuery{Tenant: benchTenant, Operation: id})
		if err != nil {
			t.Fatal(err)
		}
		version := int64(0)
		for _, event := range events {
			if event.Name == deed.Delivered {
				continue
			}
			if version++; event.Version != version {
				t.Fatalf("%s: the event of version %d is where that of %d belongs", id, event.Version, version)
			}
		}
	}
}

// The clock of the database was set back by an hour, or another server took over
// whose clock is behind.
func TestEventsFollowThoseBeforeThemWhateverTheClockSays(t *testing.T) {
	database := cluster.Database(t)
	ledger := open(t, cluster.Address(database), postgres.Options{})
	first, second := newBenchOperation(1), newBenchOperation(2)
	if err := first.transactBoth(t.Context(), ledger); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Exec(database, `UPDATE deed_events SET placed = placed + 3600000000`); err != nil {
		t.Fatal(err)
	}
	seen, err := ledger.Events(t.Context(), deed.EventQuery{Tenant: benchTenant})
	if err != nil || len(seen) != 2 {
		t.Fatalf("%d events, %v", len(seen), err)
	}
	if err := second.transactBoth(t.Context(), ledger); err != nil {
		t.Fatal(err)
	}
	news, err := ledger.Events(t.Context(), deed.EventQuery{Tenant: benchTenant, After: seen[1].ID})
	if err != nil || len(news) != 2 || news[0].OperationID != second.id() || news[0].Name != second.begin.Events[0].Name {
		t.Errorf("after them come %+v, %v", news, err)
	}
}
