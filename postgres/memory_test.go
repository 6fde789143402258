// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
)

// replicas are two ledgers on one database; the first has begun an operation.
func replicas(t *testing.T) (first, second *postgres.Ledger, o benchOperation) {
	t.Helper()
	address := cluster.Schema(t)
	first, second = open(t, address, postgres.Options{}), open(t, address, postgres.Options{})
	if err := begin(t.Context(), first, 1); err != nil {
		t.Fatal(err)
	}
	return first, second, newBenchOperation(1)
}

// renew moves the operation on to its next version.
func renew(t *testing.T, ledger *postgres.Ledger, o benchOperation) {
	t.Helper()
	_, err := ledger.Transact(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()}, func(view deed.View) (deed.Change, error) {
		next := *view.Operation
		next.Version++
		return deed.Change{Put: []*deed.Operation{&next}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnOutcomeIsWrittenOnWhatTheLedgerHas(t *testing.T) {
	first, second, o := replicas(t)
	renew(t, second, o)
	var seen []int64
	view, err := first.Transact(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()}, func(view deed.View) (deed.Change, error) {
		seen = append(seen, view.Operation.Version)
		next := *o.settle.Put[0]
		next.Version = view.Operation.Version + 1
		return deed.Change{Put: []*deed.Operation{&next}, Events: o.settle.Events}, nil
	})
	if err != nil || view.Operation.Version != 2 {
		t.Fatalf("settled on %v, %v", view.Operation, err)
	}
	if diff := cmp.Diff([]int64{1, 2}, seen); diff != "" {
		t.Errorf("versions that were decided on:\n%s", diff)
	}
	stored, err := second.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()})
	if err != nil || stored.Operation.Version != 3 || stored.Operation.Status != deed.StatusCommitted || len(stored.Operation.Receipts) != 1 {
		t.Errorf("stored: %+v, %v", stored.Operation, err)
	}
	events, err := second.Events(t.Context(), deed.EventQuery{Tenant: benchTenant, Operation: o.id()})
	if err != nil || len(events) != 2 {
		t.Errorf("%d events, %v", len(events), err)
	}
}

func TestNothingIsDecidedOnWhatIsOnlyRemembered(t *testing.T) {
	refused := errors.New("refused")
	for name, answer := range map[string]error{"no change": nil, "an error": refused} {
		t.Run(name, func(t *testing.T) {
			first, second, o := replicas(t)
			renew(t, second, o)
			view, err := first.Transact(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()}, func(deed.View) (deed.Change, error) {
				return deed.Change{}, answer
			})
			if !errors.Is(err, answer) || view.Operation == nil || view.Operation.Version != 2 {
				t.Errorf("decided on %v, %v", view.Operation, err)
			}
		})
	}
}

func TestAnOutcomeIsReadAsItWasWritten(t *testing.T) {
	first, second, o := replicas(t)
	before, err := second.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()})
	if err != nil {
		t.Fatal(err)
	}
	if n := first.Remembered(); n != 1 {
		t.Fatalf("%d operations are remembered", n)
	}
	recalled, err := first.Transact(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()}, func(deed.View) (deed.Change, error) {
		return o.settle, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Operation, recalled.Operation); diff != "" {
		t.Errorf("what is read (-) and what is remembered (+):\n%s", diff)
	}
	if d := recalled.Now.Sub(before.Now).Abs(); d > time.Minute {
		t.Errorf("the outcome was decided %s beside the database's time", d)
	}
	if n := first.Remembered(); n != 0 {
		t.Errorf("%d operations are remembered when all are settled", n)
	}
}

func TestATimeThatIsTakenForTheDatabasesIsChecked(t *testing.T) {
	for _, wrong := range []time.Duration{-time.Hour, time.Hour} {
		first, second, o := replicas(t)
		first.MistakeClock(wrong)
		var last time.Time
		_, err := first.Transact(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()}, func(view deed.View) (deed.Change, error) {
			last = view.Now
			return o.settle, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		view, err := second.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()})
		if err != nil || view.Operation.Status != deed.StatusCommitted {
			t.Fatalf("stored: %v, %v", view.Operation, err)
		}
		if d := view.Now.Sub(last).Abs(); d > time.Minute {
			t.Errorf("a clock that was %s off: the outcome was decided %s beside the database's time", wrong, d)
		}
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	ledger := open(t, cluster.Schema(t), postgres.Options{})
	const bundle = 256
	for from := int64(0); from < postgres.MaxRemembered+bundle; from += bundle {
		_, err := ledger.Transact(t.Context(), deed.Scope{Tenant: benchTenant}, func(deed.View) (deed.Change, error) {
			var change deed.Change
			for n := from; n < from+bundle; n++ {
				change.Put = append(change.Put, newBenchOperation(n).begin.Put...)
			}
			return change, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := ledger.Remembered(); n != postgres.MaxRemembered {
		t.Errorf("%d operations are remembered", n)
	}
	// Its lease ends long after the others have run out: they make room.
	late := newBenchOperation(1 << 20)
	late.begin.Put[0].LeaseExpiresAt = time.Now().Add(time.Hour)
	if _, err := ledger.Transact(t.Context(), late.scope, func(deed.View) (deed.Change, error) { return late.begin, nil }); err != nil {
		t.Fatal(err)
	}
	if n := ledger.Remembered(); n != 1 {
		t.Errorf("%d operations are remembered after the others have lapsed", n)
	}
}

// TestALostLeaseIsNotTakenBack: a renewal that was decided while the lease lived
// waits for a lock until the lease has run out.
func TestALostLeaseIsNotTakenBack(t *testing.T) {
	address := cluster.Schema(t)
	first, second := open(t, address, postgres.Options{}), open(t, address, postgres.Options{})
	o := newBenchOperation(1)
	o.begin.Put[0].LeaseExpiresAt = time.Now().Add(500 * time.Millisecond)
	if _, err := first.Transact(t.Context(), o.scope, func(deed.View) (deed.Change, error) { return o.begin, nil }); err != nil {
		t.Fatal(err)
	}
	holder, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(context.Background())
	tx, err := holder.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), `SELECT 1 FROM deed_operations WHERE id = $1 FOR UPDATE`, string(o.id()))
	}
	if err != nil {
		t.Fatal(err)
	}
	renewed := make(chan error, 1)
	go func() {
		_, err := first.Transact(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()}, func(view deed.View) (deed.Change, error) {
			if view.Operation.EffectiveState(view.Now) != deed.StateExecuting {
				return deed.Change{}, deed.ErrVersion
			}
			next := *view.Operation
			next.LeaseExpiresAt = view.Now.Add(30 * time.Second)
			return deed.Change{Put: []*deed.Operation{&next}}, nil
		})
		renewed <- err
	}()
	state := func() deed.State {
		view, err := second.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()})
		if err != nil {
			t.Fatal(err)
		}
		return view.Operation.EffectiveState(view.Now)
	}
	for state() != deed.StateUncertain {
		time.Sleep(10 * time.Millisecond)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-renewed; !errors.Is(err, deed.ErrVersion) {
		t.Errorf("renewing a lease that has run out: %v", err)
	}
	if got := state(); got != deed.StateUncertain {
		t.Errorf("an operation that was seen to be uncertain is %s again", got)
	}
}

func TestOnlyWhatWasReadWholeIsRemembered(t *testing.T) {
	first := open(t, cluster.Schema(t), postgres.Options{})
	o := newBenchOperation(1)
	waits := *o.begin.Put[0]
	waits.Status, waits.Attempts, waits.LeaseExpiresAt = deed.StatusAuthorized, nil, time.Time{}
	if _, err := first.Transact(t.Context(), o.scope, func(deed.View) (deed.Change, error) { return deed.Change{Put: []*deed.Operation{&waits}}, nil }); err != nil {
		t.Fatal(err)
	}
	// Another key finds it as a twin, without its arguments, and begins it.
	scope := o.scope
	scope.Keys = []deed.Key{{Family: deed.FamilyOperation, Text: "another-key", Generation: 1, Provenance: deed.ProvenanceModel}}
	_, err := first.Transact(t.Context(), scope, func(view deed.View) (deed.Change, error) {
		next := *view.Twins[0]
		next.Status, next.Attempts, next.LeaseExpiresAt = deed.StatusExecuting, o.begin.Put[0].Attempts, o.begin.Put[0].LeaseExpiresAt
		next.Version++
		return deed.Change{Put: []*deed.Operation{&next}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	view, err := first.Transact(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()}, func(view deed.View) (deed.Change, error) {
		next := *view.Operation
		next.Version++
		return deed.Change{Put: []*deed.Operation{&next}}, nil
	})
	if err != nil || string(view.Operation.Arguments) != string(o.begin.Put[0].Arguments) {
		t.Errorf("its arguments are %q, %v", view.Operation.Arguments, err)
	}
}
