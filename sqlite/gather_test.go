// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
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
