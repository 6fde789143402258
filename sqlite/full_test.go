// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

// fillUp begins and settles operations until one fails, and returns what was
// acknowledged and the error.
func fillUp(t *testing.T, ledger *sqlite.Ledger) (map[deed.OperationID]string, error) {
	t.Helper()
	acknowledged := map[deed.OperationID]string{}
	for n := int64(1); n < 20_000; n++ {
		o := newBenchOperation(n)
		if _, err := ledger.Transact(t.Context(), o.scope, func(deed.View) (deed.Change, error) { return o.begin, nil }); err != nil {
			return acknowledged, err
		}
		acknowledged[o.id()] = "begun"
		if _, err := ledger.Transact(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()}, func(deed.View) (deed.Change, error) { return o.settle, nil }); err != nil {
			return acknowledged, err
		}
		acknowledged[o.id()] = "settled"
	}
	t.Fatal("the disk does not fill up")
	return nil, nil
}

func TestAFullDiskLosesNothingAndGoesOnWhenThereIsRoom(t *testing.T) {
	var mu sync.Mutex
	room := int64(512 << 10)
	name := registerVFS(t, &hooks{write: func(_ string, data []byte, at int64) error {
		mu.Lock()
		defer mu.Unlock()
		if at+int64(len(data)) > room {
			return sqlite3.FULL
		}
		return nil
	}})
	path := filepath.Join(t.TempDir(), "ledger.db")
	ledger := openAt(t, path, sqlite.Options{VFS: name})
	acknowledged, err := fillUp(t, ledger)
	checkFull(t, ledger, acknowledged, err)
	mu.Lock()
	room = 1 << 40
	mu.Unlock()
	if _, err := begin(t.Context(), ledger, 100_000); err != nil {
		t.Errorf("after room was made: %v", err)
	}
	if err := ledger.Close(); err != nil {
		t.Error(err)
	}
	checkAcknowledged(t, path, acknowledged)
}

func checkFull(t *testing.T, ledger *sqlite.Ledger, acknowledged map[deed.OperationID]string, err error) {
	t.Helper()
	if !errors.Is(err, deed.ErrUnavailable) || !strings.Contains(err.Error(), "make room") {
		t.Errorf("err = %v (%#v), want ErrUnavailable and a remedy", err, errors.Unwrap(err))
	}
	for id, verb := range acknowledged {
		if why := missing(t.Context(), ledger, id, verb == "settled"); why != "" {
			t.Errorf("while the disk is full, %s, which was %s: %s", id, verb, why)
		}
	}
}

// A write that found no room costs the ledger its connection, the only one as
// long as nobody lists or watches; it goes on all the same, on the same log.
func TestALedgerGoesOnWithoutTheOnlyConnectionThatItHad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	ledger := openAt(t, path, sqlite.Options{})
	first, second := newBenchOperation(1), newBenchOperation(2)
	if err := first.transactBoth(t.Context(), ledger); err != nil {
		t.Fatal(err)
	}
	sqlite.LoseWriter(ledger)
	for _, beside := range []string{"-wal", "-shm"} {
		// A new one would be taken for one that somebody put there.
		if _, err := os.Stat(path + beside); err != nil {
			t.Errorf("the last connection to close took a file away: %v", err)
		}
	}
	if err := second.transactBoth(t.Context(), ledger); err != nil {
		t.Fatalf("the next write: %v", err)
	}
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
	checkAcknowledged(t, path, map[deed.OperationID]string{first.id(): "settled", second.id(): "settled"})
}
