// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

// logWrites counts what is written to the write-ahead log.
type logWrites struct {
	mu    sync.Mutex
	sizes []int
}

func (w *logWrites) take() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	sizes := w.sizes
	w.sizes = nil
	return sizes
}

func openCounting(t *testing.T) (*sqlite.Ledger, string, *logWrites) {
	t.Helper()
	writes := &logWrites{}
	name := registerVFS(t, &hooks{write: func(file string, data []byte, _ int64) error {
		if strings.HasSuffix(file, "-wal") {
			writes.mu.Lock()
			defer writes.mu.Unlock()
			writes.sizes = append(writes.sizes, len(data))
		}
		return nil
	}})
	path := filepath.Join(t.TempDir(), "ledger.db")
	return openAt(t, path, sqlite.Options{VFS: name, Patience: time.Minute, CheckpointPages: 1 << 20}), path, writes
}

func TestATransactionReachesTheLogInOneWrite(t *testing.T) {
	ledger, _, writes := openCounting(t)
	if err := newBenchOperation(1).transactBoth(t.Context(), ledger); err != nil {
		t.Fatal(err)
	}
	writes.take() // the log may have been begun, with a header of its own
	if err := newBenchOperation(2).transactBoth(t.Context(), ledger); err != nil {
		t.Fatal(err)
	}
	sizes := writes.take()
	const frame = 24 + 4096
	if len(sizes) != 2 || sizes[0]%frame != 0 || sizes[1]%frame != 0 {
		t.Errorf("begin and settlement made writes of %v bytes, want one write of whole frames each", sizes)
	}
}

func TestATransactionTooLongToGatherIsWrittenWhole(t *testing.T) {
	ledger, path, writes := openCounting(t)
	var batch deed.Change
	for n := range int64(40) {
		op := *newBenchOperation(n + 1).begin.Put[0]
		op.Arguments = fmt.Appendf(nil, `{"note":%q}`, strings.Repeat("x", 100_000))
		op.PayloadDigest = deed.Digest(benchDigest(fmt.Sprint(n)))
		batch.Put = append(batch.Put, &op)
	}
	put := func(deed.View) (deed.Change, error) { return batch, nil }
	if _, err := ledger.Transact(t.Context(), deed.Scope{Tenant: benchTenant}, put); err != nil {
		t.Fatal(err)
	}
	if sizes := writes.take(); len(sizes) < 3 {
		t.Errorf("4 MB were kept for %d writes", len(sizes))
	}
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
	again := openAt(t, path, sqlite.Options{})
	for _, op := range batch.Put {
		view, err := again.Load(context.WithoutCancel(t.Context()), deed.Scope{Tenant: benchTenant, ID: op.ID})
		if err != nil || view.Operation == nil || len(view.Operation.Arguments) != len(op.Arguments) {
			t.Fatalf("%s is not there as it was written: %v", op.ID, err)
		}
	}
}

// What a transaction leaves behind that was rolled back must not reach the log
// later, where somebody else has written by then.
func TestATransactionThatIsRolledBackLeavesTheLogAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	first := openAt(t, path, sqlite.Options{})
	if err := errors.Join(newBenchOperation(1).transactBoth(t.Context(), first), first.Close()); err != nil {
		t.Fatal(err)
	}
	// With an empty log, nothing that a rollback reads is in it.
	here, there := openAt(t, path, sqlite.Options{Patience: time.Minute}), openAt(t, path, sqlite.Options{Patience: time.Minute})
	// More pages than the cache holds, and a key that is taken.
	large, taken := *newBenchOperation(2).begin.Put[0], *newBenchOperation(1).begin.Put[0]
	large.Arguments = fmt.Appendf(nil, `{"note":%q}`, strings.Repeat("x", 15_000_000))
	large.PayloadDigest = deed.Digest(benchDigest("large"))
	taken.ID = newBenchOperation(3).id()
	put := func(deed.View) (deed.Change, error) { return deed.Change{Put: []*deed.Operation{&large, &taken}}, nil }
	if _, err := here.Transact(t.Context(), deed.Scope{Tenant: benchTenant}, put); !errors.Is(err, deed.ErrKeyTaken) {
		t.Fatalf("a taken key: %v", err)
	}
	var others []benchOperation
	for n := range int64(300) {
		others = append(others, newBenchOperation(10+n))
		if err := others[n].transactBoth(t.Context(), there); err != nil {
			t.Fatal(err)
		}
	}
	if err := newBenchOperation(4).transactBoth(t.Context(), here); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(here.Close(), there.Close()); err != nil {
		t.Fatal(err)
	}
	again := openAt(t, path, sqlite.Options{})
	for _, o := range others {
		view, err := again.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()})
		if err != nil || view.Operation == nil || view.Operation.Status != deed.StatusCommitted {
			t.Fatalf("%s was acknowledged and is not there: %v", o.id(), err)
		}
	}
}
