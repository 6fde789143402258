// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
)

// errSeen keeps a transaction from writing.
var errSeen = errors.New("seen")

// A ledger decides on what it remembers, and the database on whether that is
// so. Here another process has moved it on each time.
func TestWhatIsRememberedNeverOutweighsTheLedger(t *testing.T) {
	address := cluster.Schema(t)
	options := postgres.Options{Patience: time.Minute}
	here, there := open(t, address, options), open(t, address, options)
	begin := func(t *testing.T, on *postgres.Ledger, o benchOperation) (views []deed.View) {
		t.Helper()
		_, err := on.Transact(t.Context(), o.scope, func(view deed.View) (deed.Change, error) {
			views = append(views, view)
			if view.Operation != nil || len(view.Twins) > 0 {
				return deed.Change{}, errSeen
			}
			return o.begin, nil
		})
		if err != nil && !errors.Is(err, errSeen) {
			t.Fatal(err)
		}
		return views
	}
	warm := func(t *testing.T, n int64) {
		t.Helper()
		for i := range int64(3) {
			begin(t, here, newBenchOperation(n+i))
		}
	}

	t.Run("a settlement is decided on what another process wrote", func(t *testing.T) {
		warm(t, 1000)
		o := newBenchOperation(1)
		if views := begin(t, here, o); len(views) != 1 {
			t.Fatalf("a new key was decided %d times", len(views))
		}
		renewed := *o.begin.Put[0]
		renewed.LeaseExpiresAt, renewed.Version = renewed.LeaseExpiresAt.Add(time.Hour), 2
		byID := deed.Scope{Tenant: benchTenant, ID: o.id()}
		_, err := there.Transact(t.Context(), byID, func(deed.View) (deed.Change, error) {
			return deed.Change{Put: []*deed.Operation{&renewed}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var leases []time.Time
		done := *o.settle.Put[0]
		done.Version = 3
		_, err = here.Transact(t.Context(), byID, func(view deed.View) (deed.Change, error) {
			leases = append(leases, view.Operation.LeaseExpiresAt)
			return deed.Change{Put: []*deed.Operation{&done}, Events: o.settle.Events}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if last := leases[len(leases)-1]; !last.Equal(renewed.LeaseExpiresAt) {
			t.Errorf("decided on a lease until %v; it was renewed until %v", last, renewed.LeaseExpiresAt)
		}
	})

	t.Run("a key that another process took names its operation", func(t *testing.T) {
		warm(t, 2000)
		o := newBenchOperation(2)
		begin(t, there, o)
		views := begin(t, here, o)
		if last := views[len(views)-1]; last.Operation == nil || last.Operation.ID != o.id() {
			t.Errorf("the last view was %+v", last)
		}
	})

	t.Run("a twin under another key is seen", func(t *testing.T) {
		warm(t, 3000)
		o, twin := newBenchOperation(3), newBenchOperation(4)
		begin(t, there, o)
		put := *twin.begin.Put[0]
		put.Fingerprint, put.Matter = o.begin.Put[0].Fingerprint, o.begin.Put[0].Matter
		twin.begin.Put[0], twin.scope.Fingerprints, twin.scope.Matters = &put, o.scope.Fingerprints, o.scope.Matters
		views := begin(t, here, twin)
		if last := views[len(views)-1]; len(last.Twins) != 1 || last.Twins[0].ID != o.id() {
			t.Errorf("the last view had the twins %+v", last.Twins)
		}
	})

	t.Run("a refusal that was appended before is seen", func(t *testing.T) {
		warm(t, 6000)
		o, next := newBenchOperation(7), newBenchOperation(8)
		begin(t, here, o)
		refused := o.begin.Events[0]
		refused.ID, refused.Name = "ev_refused", "conflict"
		refused.Tool, refused.Fingerprint = next.scope.Tool, next.scope.Fingerprints[0]
		if err := here.Append(t.Context(), []deed.Event{refused}, deed.Batched); err != nil {
			t.Fatal(err)
		}
		views := begin(t, here, next)
		if last := views[len(views)-1]; len(last.Refused) != 1 || last.Refused[0].Operation.ID != o.id() {
			t.Errorf("a new key was decided with the refusals %+v", last.Refused)
		}
	})

	t.Run("rules that another process put in force are the ones in force", func(t *testing.T) {
		warm(t, 4000)
		o := newBenchOperation(5)
		_, err := there.Setting(t.Context(), deed.ActiveSetting(o.scope.Tool), func([]byte) []byte { return []byte("newer") })
		if err != nil {
			t.Fatal(err)
		}
		views := begin(t, here, o)
		if last := views[len(views)-1]; last.Active != "newer" {
			t.Errorf("decided by the rules %q", last.Active)
		}
	})

	t.Run("an operation is remembered as it is stored", func(t *testing.T) {
		warm(t, 5000)
		o := newBenchOperation(6)
		begin(t, here, o)
		byID := deed.Scope{Tenant: benchTenant, ID: o.id()}
		var remembered deed.View
		_, err := here.Transact(t.Context(), byID, func(view deed.View) (deed.Change, error) {
			remembered = view
			return o.settle, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		stored, err := here.Load(t.Context(), byID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(o.settle.Put[0], stored.Operation); diff != "" {
			t.Errorf("settled and stored differ (-settled +stored):\n%s", diff)
		}
		if diff := cmp.Diff(o.begin.Put[0], remembered.Operation); diff != "" {
			t.Errorf("begun and remembered differ (-begun +remembered):\n%s", diff)
		}
		if remembered.Now.After(stored.Now) {
			t.Errorf("a settlement saw %v, and a later reading %v", remembered.Now, stored.Now)
		}
	})
}
