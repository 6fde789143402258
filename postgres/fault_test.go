// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
	"github.com/deed-run/deed/postgres/internal/pgtest"
)

// claims is what callers were told about operations that they began.
type claims struct {
	mu     sync.Mutex
	told   map[int64]error
	number atomic.Int64
}

// work begins and settles operations until done says so.
func (c *claims) work(ctx context.Context, ledger *postgres.Ledger, callers int, done func() bool) {
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for !done() {
				n := c.number.Add(1)
				err := newBenchOperation(n).transactBoth(ctx, ledger)
				c.mu.Lock()
				c.told[n] = err
				c.mu.Unlock()
			}
		})
	}
	group.Wait()
}

// check reads the ledger and compares: what was acknowledged is there once,
// with one event for the begin and one for the settlement; what was refused
// as not written has no settlement.
func (c *claims) check(t *testing.T, address string) (acknowledged int) {
	t.Helper()
	ledger := open(t, address, postgres.Options{})
	for n, err := range c.told {
		id := newBenchOperation(n).id()
		view, loadErr := ledger.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: id})
		if loadErr != nil {
			t.Fatal(loadErr)
		}
		events, eventErr := ledger.Events(t.Context(), deed.EventQuery{Tenant: benchTenant, Operation: id})
		if eventErr != nil {
			t.Fatal(eventErr)
		}
		names := map[deed.EventName]int{}
		for _, event := range events {
			names[event.Name]++
		}
		begun, succeeded := names[deed.EventBegun], names[deed.EventSucceeded]
		op := view.Operation
		switch {
		case begun > 1 || succeeded > 1:
			t.Errorf("%s: %d begins and %d settlements are recorded", id, begun, succeeded)
		case (op != nil) != (begun == 1), op != nil && (op.Status == deed.StatusCommitted) != (succeeded == 1):
			t.Errorf("%s: half a transaction is there: %v", id, names)
		case err == nil && (op == nil || op.Status != deed.StatusCommitted || len(op.Receipts) != 1):
			t.Errorf("%s was acknowledged and is lost", id)
		case err != nil && succeeded == 1 && !errors.Is(err, deed.ErrCommitUnknown):
			t.Errorf("%s: %v, and yet it is settled", id, err)
		}
		if err == nil {
			acknowledged++
		} else if !errors.Is(err, deed.ErrUnavailable) && !errors.Is(err, deed.ErrCommitUnknown) {
			t.Errorf("%s: %v", id, err)
		}
	}
	return acknowledged
}

func TestNothingIsLostOrDoubledWhenTheConnectionIsCutDuringCommit(t *testing.T) {
	const cuts = 200
	schema := cluster.Schema(t)
	var commits atomic.Int64
	proxy, err := cluster.NewProxy(func() pgtest.Cut {
		if commits.Add(1)%2 == 0 {
			return pgtest.CutNone
		}
		return pgtest.CutBefore + pgtest.Cut(rand.IntN(3))
	})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Stop()
	through, err := url.Parse(schema)
	if err != nil {
		t.Fatal(err)
	}
	values := through.Query()
	values.Set("host", "127.0.0.1")
	values.Set("port", strconv.Itoa(proxy.Port))
	values.Set("sslmode", "disable")
	values.Set("default_query_exec_mode", "exec")
	open(t, schema, postgres.Options{})
	ledger, err := postgres.Open(t.Context(), "postgres:///?"+values.Encode(), postgres.Options{Listen: postgres.NoListen, Patience: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	told := &claims{told: map[int64]error{}}
	told.work(t.Context(), ledger, 4, func() bool { return proxy.Cuts.Load() >= cuts })
	if err := ledger.Close(); err != nil {
		t.Error(err)
	}
	acknowledged := told.check(t, schema)
	t.Logf("%d cuts, %d operations, %d acknowledged", proxy.Cuts.Load(), len(told.told), acknowledged)
}

func TestNothingIsLostOrDoubledWhenBackendsAreKilled(t *testing.T) {
	const kills = 40
	schema := cluster.Schema(t, "application_name", "victim")
	ledger := open(t, schema, postgres.Options{Patience: 30 * time.Second})
	var killed, turns atomic.Int64
	told := &claims{told: map[int64]error{}}
	// Every fourth turn a caller kills what the others are in the middle of.
	told.work(t.Context(), ledger, 8, func() bool {
		if turns.Add(1)%4 == 0 {
			err := cluster.Exec("postgres", `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE application_name = 'victim' AND state <> 'idle'`)
			if err != nil {
				t.Error(err)
				return true
			}
			killed.Add(1)
		}
		return killed.Load() >= kills
	})
	acknowledged := told.check(t, schema)
	t.Logf("%d kills, %d operations, %d acknowledged", killed.Load(), len(told.told), acknowledged)
}

func TestOfFiftyWhoClaimOneKeyOnTwoReplicasExactlyOneBegins(t *testing.T) {
	schema := cluster.Schema(t)
	replicas := []*postgres.Ledger{
		open(t, schema, postgres.Options{Patience: 30 * time.Second}),
		open(t, schema, postgres.Options{Patience: 30 * time.Second}),
	}
	for _, same := range []string{"the key", "the effect"} {
		t.Run(same, func(t *testing.T) {
			var won atomic.Int64
			var group sync.WaitGroup
			there := errors.New("there")
			for i := range 50 {
				group.Go(func() {
					o := newBenchOperation(int64(1000*len(same) + i))
					op := o.begin.Put[0]
					scope := deed.Scope{Tenant: benchTenant, Keys: []deed.Key{op.Key}}
					if same == "the key" {
						op.Key.Text = "the-one-and-only-key"
						scope.Keys[0].Text = op.Key.Text
					} else {
						op.Fingerprint, op.Matter = "sha256:same", `["same"]`
						scope.Tool, scope.Fingerprints, scope.Matters = op.Tool, []deed.Fingerprint{op.Fingerprint}, []deed.Matter{op.Matter}
					}
					_, err := replicas[i%2].Transact(t.Context(), scope, func(view deed.View) (deed.Change, error) {
						if view.Operation != nil || len(view.Twins) > 0 {
							return deed.Change{}, there
						}
						return o.begin, nil
					})
					if err == nil {
						won.Add(1)
					} else if err != there {
						t.Error(err)
					}
				})
			}
			group.Wait()
			if won.Load() != 1 {
				t.Errorf("%d began", won.Load())
			}
		})
	}
}

func TestAWatchHearsOfAnotherReplica(t *testing.T) {
	schema := cluster.Schema(t)
	// Polling would take an hour: only a notification can be in time.
	here := open(t, schema, postgres.Options{Poll: time.Hour})
	there := open(t, schema, postgres.Options{})
	o := newBenchOperation(1)
	if _, err := here.Transact(t.Context(), o.scope, func(deed.View) (deed.Change, error) { return o.begin, nil }); err != nil {
		t.Fatal(err)
	}
	heard := make(chan error)
	go func() {
		version, err := here.Watch(t.Context(), benchTenant, o.id(), 1)
		if err == nil && version != 2 {
			err = fmt.Errorf("version %d, want 2", version)
		}
		heard <- err
	}()
	if err := settle(t.Context(), there, o); err != nil {
		t.Fatal(err)
	}
	if err := <-heard; err != nil {
		t.Error(err)
	}
}

// settle settles an operation that was begun.
func settle(ctx context.Context, ledger *postgres.Ledger, o benchOperation) error {
	_, err := ledger.Transact(ctx, deed.Scope{Tenant: benchTenant, ID: o.id()}, func(view deed.View) (deed.Change, error) {
		if view.Operation == nil {
			return deed.Change{}, fmt.Errorf("%s is not there", o.id())
		}
		return o.settle, nil
	})
	return err
}

func TestALockThatAnotherSessionHoldsBlocksOnlyWhoNeedsIt(t *testing.T) {
	schema := cluster.Schema(t)
	ledger := open(t, schema, postgres.Options{Patience: 5 * time.Second})
	stuck := newBenchOperation(1)
	if err := begin(t.Context(), ledger, 1); err != nil {
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
	if _, err := tx.Exec(t.Context(), `SELECT 1 FROM deed_operations WHERE id = $1 FOR UPDATE`, string(stuck.id())); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		err := settle(t.Context(), ledger, stuck)
		if !errors.Is(err, deed.ErrUnavailable) || errors.Is(err, deed.ErrCommitUnknown) {
			t.Errorf("whoever needs the lock: %v, want ErrUnavailable", err)
		}
	})
	for n := int64(2); n < 20; n++ {
		group.Go(func() {
			// The queue of the tenant may be held up once; then they all pass.
			for begin(t.Context(), ledger, n) != nil {
			}
		})
	}
	group.Wait()
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := settle(t.Context(), ledger, stuck); err != nil {
		t.Errorf("after the lock was released: %v", err)
	}
}
