// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
)

func TestOfLoadsThatComeTogetherEachGetsWhatItAskedFor(t *testing.T) {
	const operations, callers = 40, 400
	ledger := open(t, cluster.Schema(t), postgres.Options{})
	for n := range int64(operations) {
		if err := begin(t.Context(), ledger, n); err != nil {
			t.Fatal(err)
		}
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	var group sync.WaitGroup
	for i := range int64(callers) {
		group.Go(func() {
			o := newBenchOperation(i % (2 * operations)) // half of them are not there
			scope := deed.Scope{Tenant: benchTenant, ID: o.id()}
			if i%3 == 0 {
				scope = deed.Scope{Tenant: benchTenant, Keys: []deed.Key{o.begin.Put[0].Key}}
			}
			if i%7 == 0 {
				scope.Tenant = "another"
			}
			if i%11 == 0 {
				if _, err := ledger.Load(left, scope); !errors.Is(err, context.Canceled) {
					t.Errorf("a caller who has left: %v", err)
				}
				return
			}
			view, err := ledger.Load(t.Context(), scope)
			there := i%(2*operations) < operations && i%7 != 0
			switch {
			case err != nil:
				t.Error(err)
			case view.Now.IsZero():
				t.Error("the view has no time")
			case there != (view.Operation != nil):
				t.Errorf("operation %d of %q: %v", i%(2*operations), scope.Tenant, view.Operation)
			case there && view.Operation.ID != o.id():
				t.Errorf("%s was asked for and %s read", o.id(), view.Operation.ID)
			}
		})
	}
	group.Wait()
}

func TestALoadSeesWhatWasAcknowledgedBefore(t *testing.T) {
	ledger := open(t, cluster.Schema(t), postgres.Options{})
	var group sync.WaitGroup
	for caller := range int64(16) {
		group.Go(func() {
			for i := range int64(20) {
				o := newBenchOperation(100*caller + i)
				if err := o.transactBoth(t.Context(), ledger); err != nil {
					t.Error(err)
					return
				}
				view, err := ledger.Load(t.Context(), deed.Scope{Tenant: benchTenant, Keys: []deed.Key{o.begin.Put[0].Key}})
				if err != nil || view.Operation == nil || view.Operation.Status != deed.StatusCommitted {
					t.Errorf("%s is settled and was read as %v, %v", o.id(), view.Operation, err)
				}
			}
		})
	}
	group.Wait()
}

func TestLoadsThatFailTogetherSayEachWhatIsWrong(t *testing.T) {
	database := cluster.Database(t)
	ledger := open(t, cluster.Address(database), postgres.Options{Listen: postgres.NoListen})
	if err := cluster.Exec(database, `ALTER TABLE deed_keys RENAME TO hidden`); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for n := range int64(20) {
		group.Go(func() {
			_, err := ledger.Load(t.Context(), deed.Scope{Tenant: benchTenant, Keys: newBenchOperation(n).scope.Keys})
			if !errors.Is(err, deed.ErrUnavailable) {
				t.Errorf("%v, want ErrUnavailable", err)
			}
		})
	}
	group.Wait()
	if err := cluster.Exec(database, `ALTER TABLE hidden RENAME TO deed_keys`); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Load(t.Context(), newBenchOperation(1).scope); err != nil {
		t.Errorf("after the repair: %v", err)
	}
}
