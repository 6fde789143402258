// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

// faulty opens a ledger on a disk whose writes and syncs can be made to fail.
func faulty(t *testing.T) (ledger *sqlite.Ledger, path string, writes, syncs *fault) {
	t.Helper()
	writes, syncs = &fault{}, &fault{}
	name := registerVFS(t, &hooks{
		write: func(string, []byte, int64) error { return writes.now() },
		sync:  func(string) error { return syncs.now() },
	})
	path = filepath.Join(t.TempDir(), "ledger.db")
	return openAt(t, path, sqlite.Options{VFS: name}), path, writes, syncs
}

func TestAFailingDiskWritesNothingAndIsSurvived(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		sync bool
		is   error
		want string
	}{
		"full":             {sqlite3.FULL, false, deed.ErrUnavailable, "make room"},
		"error on writing": {sqlite3.IOERR_WRITE, false, deed.ErrUnavailable, "check the disk"},
		// With every sync failing nobody can know what a crash would leave.
		"error on syncing": {sqlite3.IOERR_FSYNC, true, deed.ErrCommitUnknown, "check the disk"},
	} {
		t.Run(name, func(t *testing.T) {
			ledger, path, writes, syncs := faulty(t)
			before, err := begin(t.Context(), ledger, 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := ledger.Append(t.Context(), before.begin.Events, deed.Durable); err != nil {
				t.Fatal(err)
			}
			which := writes
			if c.sync {
				which = syncs
			}
			which.set(c.err)
			o, err := begin(t.Context(), ledger, 2)
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("err = %v, want %v and a remedy", err, c.is)
			}
			view, err := ledger.Load(t.Context(), before.scope)
			if err != nil || view.Operation == nil {
				t.Errorf("a replay does not go on: %v", err)
			}
			which.set(nil)
			if _, err := begin(t.Context(), ledger, 3); err != nil {
				t.Errorf("after the disk came back: %v", err)
			}
			view, err = ledger.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()})
			if err != nil || view.Operation != nil && c.is == deed.ErrUnavailable {
				t.Errorf("what was refused is there: %v, %v", view.Operation, err)
			}
			if err := ledger.Close(); err != nil {
				t.Fatal(err)
			}
			checkIntegrity(t, path)
		})
	}
}

func TestAOneTimeErrorOfASyncHasAKnownOutcome(t *testing.T) {
	failed := false
	armed := &fault{}
	name := registerVFS(t, &hooks{sync: func(string) error {
		if armed.now() != nil && !failed {
			failed = true
			return armed.now()
		}
		return nil
	}})
	ledger := openAt(t, filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{VFS: name})
	armed.set(sqlite3.IOERR_FSYNC)
	o, err := begin(t.Context(), ledger, 1)
	if !failed {
		t.Fatal("no sync failed")
	}
	if errors.Is(err, deed.ErrCommitUnknown) {
		t.Errorf("the outcome could be known: %v", err)
	}
	view, loadErr := ledger.Load(t.Context(), o.scope)
	if loadErr != nil || (view.Operation != nil) != (err == nil) {
		t.Errorf("begin said %v, and the ledger has %v, %v", err, view.Operation, loadErr)
	}
}

func TestBatchedEventsOutliveAFullDisk(t *testing.T) {
	ledger, _, write, _ := faulty(t)
	o, err := begin(t.Context(), ledger, 1)
	if err != nil {
		t.Fatal(err)
	}
	write.set(sqlite3.FULL)
	event := o.begin.Events[0]
	event.Name = deed.EventName(deed.Replay)
	if err := ledger.Append(t.Context(), []deed.Event{event}, deed.Batched); err != nil {
		t.Fatal(err)
	}
	if _, err := begin(t.Context(), ledger, 2); !errors.Is(err, deed.ErrUnavailable) {
		t.Fatalf("err = %v, want ErrUnavailable", err)
	}
	write.set(nil)
	if _, err := begin(t.Context(), ledger, 3); err != nil {
		t.Fatal(err)
	}
	events, err := ledger.Events(t.Context(), deed.EventQuery{Tenant: benchTenant})
	if err != nil || len(events) != 3 || events[1].Name != event.Name {
		t.Errorf("events: %v, %v; want the batched one between the two begins", events, err)
	}
}

func TestWhileAnotherProgramHoldsTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	ledger := openAt(t, path, sqlite.Options{Patience: 2 * time.Second})
	o, err := begin(t.Context(), ledger, 1)
	if err != nil {
		t.Fatal(err)
	}
	other := raw(t, path)
	execute(t, other, "BEGIN IMMEDIATE")

	t.Run("a duplicate finds the claim", func(t *testing.T) {
		view, err := ledger.Load(t.Context(), o.scope)
		if err != nil || view.Operation == nil {
			t.Errorf("%v, %v", view.Operation, err)
		}
	})
	t.Run("a begin gives up and has written nothing", func(t *testing.T) {
		if _, err := begin(t.Context(), ledger, 2); !errors.Is(err, deed.ErrUnavailable) {
			t.Errorf("err = %v, want ErrUnavailable", err)
		}
	})
	t.Run("a caller that leaves the queue has written nothing", func(t *testing.T) {
		waiting := make(chan error, 1)
		go func() {
			_, err := begin(t.Context(), ledger, 3) // occupies the writer
			waiting <- err
		}()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := begin(ctx, ledger, 4); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v, want Canceled", err)
		}
		<-waiting
	})
	execute(t, other, "ROLLBACK")
	if _, err := begin(t.Context(), ledger, 5); err != nil {
		t.Errorf("after the lock was let go: %v", err)
	}
	page, err := ledger.List(t.Context(), deed.Query{Tenant: benchTenant})
	if err != nil || len(page.Operations) != 2 {
		t.Errorf("%d operations, %v; want the first and the last", len(page.Operations), err)
	}
}

func TestAPanicOfAChangeIsItsCallersOwn(t *testing.T) {
	ledger := open(t, deed.SystemClock{})
	o := newBenchOperation(1)
	func() {
		defer func() {
			if r := recover(); r != "mine" {
				t.Errorf("recovered %v", r)
			}
		}()
		ledger.Transact(t.Context(), o.scope, func(deed.View) (deed.Change, error) { panic("mine") })
		t.Error("it did not panic")
	}()
	if _, err := begin(t.Context(), ledger, 2); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestAValueTooLargeIsRefusedAndOthersGoOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	makeLedger(t, path)
	ledger := openAt(t, path, sqlite.Options{})
	if _, err := begin(t.Context(), ledger, 1000); err != nil {
		t.Fatal(err)
	}
	o := newBenchOperation(1001)
	o.begin.Put[0].Arguments = make([]byte, 1<<30)
	_, err := ledger.Transact(t.Context(), o.scope, func(deed.View) (deed.Change, error) { return o.begin, nil })
	if err == nil || errors.Is(err, deed.ErrUnavailable) {
		t.Errorf("a value beyond SQLite's limit: %v, want a refusal of the change", err)
	}
	if _, err := begin(t.Context(), ledger, 1002); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// On a disk that fails now and then, what was acknowledged is there, and what
// was unavailable is not.
func TestEveryOutcomeIsTrueOnABadDisk(t *testing.T) {
	for seed := range uint64(4) {
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(seed, 7))
		bad := false
		fails := func(errs ...error) error {
			mu.Lock()
			defer mu.Unlock()
			if !bad || random.IntN(12) > 0 {
				return nil
			}
			return errs[random.IntN(len(errs))]
		}
		name := registerVFS(t, &hooks{
			write: func(string, []byte, int64) error {
				return fails(sqlite3.FULL, sqlite3.IOERR_WRITE, nil, nil, nil, nil, nil)
			},
			sync: func(string) error { return fails(sqlite3.IOERR_FSYNC) },
		})
		path := filepath.Join(t.TempDir(), "ledger.db")
		ledger, err := sqlite.Open(t.Context(), path, sqlite.Options{VFS: name, CheckpointPages: 50})
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		bad = true
		mu.Unlock()
		outcomes := map[deed.OperationID]error{}
		var group sync.WaitGroup
		for worker := range int64(3) {
			group.Go(func() {
				for n := worker + 1; n < 150; n += 3 {
					o, err := begin(t.Context(), ledger, n)
					mu.Lock()
					outcomes[o.id()] = err
					mu.Unlock()
				}
			})
		}
		group.Wait()
		mu.Lock()
		bad = false
		mu.Unlock()
		if err := ledger.Close(); err != nil {
			t.Error(err)
		}
		again := openAt(t, path, sqlite.Options{})
		counts := map[string]int{}
		for id, outcome := range outcomes {
			view, err := again.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: id})
			if err != nil {
				t.Fatal(err)
			}
			there := view.Operation != nil
			switch {
			case outcome == nil:
				counts["acknowledged"]++
				if !there {
					t.Errorf("seed %d: %s was acknowledged and is lost", seed, id)
				}
			case errors.Is(outcome, deed.ErrCommitUnknown):
				counts["unknown"]++
			case errors.Is(outcome, deed.ErrUnavailable):
				counts["unavailable"]++
				if there {
					t.Errorf("seed %d: %s is there, and was %v", seed, id, outcome)
				}
			default:
				t.Errorf("seed %d: %s: %v", seed, id, outcome)
			}
		}
		if counts["acknowledged"] == 0 || counts["unavailable"] == 0 {
			t.Errorf("seed %d says nothing: %v", seed, counts)
		}
		checkIntegrity(t, path)
	}
}
