// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/deed-run/deed/sqlite"
)

// The log begins anew although somebody always writes; while the file takes no
// page, the log grows and no commit fails.
func TestTheLogStaysShortWhileSomebodyAlwaysWrites(t *testing.T) {
	const pages, pageSize, callers, operations = 50, 4096, 8, 400
	var fails atomic.Bool
	var longest atomic.Int64
	hook := &hooks{write: func(file string, data []byte, at int64) error {
		if strings.HasSuffix(file, "-wal") {
			longest.Store(max(longest.Load(), at+int64(len(data)))) // one writer
		} else if fails.Load() {
			return errors.New("the file takes no page")
		}
		return nil
	}}
	ledger := openAt(t, filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{VFS: registerVFS(t, hook), CheckpointPages: pages})
	write := func(from int) int64 {
		longest.Store(0)
		var group sync.WaitGroup
		for caller := range callers {
			group.Go(func() {
				for n := from + caller; n < from+operations; n += callers {
					if err := newBenchOperation(int64(n)).transactBoth(t.Context(), ledger); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
		return longest.Load() / pageSize
	}
	if length := write(0); length > 8*pages {
		t.Errorf("the log grew to %d pages, although it is copied from %d on", length, pages)
	}
	fails.Store(true)
	if length := write(operations); length < 16*pages {
		t.Errorf("the log has %d pages only, although none could be copied", length)
	}
	fails.Store(false)
	write(2 * operations)
	if length := write(3 * operations); length > 16*pages {
		t.Errorf("the log went on to %d pages when it could be copied again", length)
	}
}

// A reader that is always there, one after the other, keeps no log from starting
// anew: the writer waits for those that are in it. For one that stays it waits once in
// a while, and goes on.
func TestReadersDoNotKeepTheLogForEver(t *testing.T) {
	const pages, pageSize = 20, 4096
	var longest, begun atomic.Int64
	hook := &hooks{write: func(file string, data []byte, at int64) error {
		if strings.HasSuffix(file, "-wal") {
			longest.Store(max(longest.Load(), at+int64(len(data))))
			if at == 0 {
				begun.Add(1)
			}
		}
		return nil
	}}
	path := filepath.Join(t.TempDir(), "ledger.db")
	ledger := openAt(t, path, sqlite.Options{VFS: registerVFS(t, hook), CheckpointPages: pages, Patience: time.Hour})
	written := int64(0)
	write := func(operations int64) {
		for range operations {
			written++
			if err := newBenchOperation(written).transactBoth(t.Context(), ledger); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(1)
	readers := [2]*sqlite3.Conn{raw(t, path), raw(t, path)}
	enter := func(reader *sqlite3.Conn) {
		if err := reader.Exec("BEGIN; SELECT count(*) FROM operations"); err != nil {
			t.Error(err)
		}
	}

	enter(readers[0])
	write(100) // no commit waits for an hour
	if length := longest.Load() / pageSize; length < 32*pages {
		t.Fatalf("the log has %d pages only, although a reader was in it", length)
	}
	if length, then := sqlite.Waited(ledger); length-then >= 16*pages || then == 0 {
		t.Errorf("at %d pages readers were waited for at %d last: every commit waits for one that stays", length, then)
	}

	over := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for n := 1; ; n++ {
			enter(readers[n%2])
			time.Sleep(5 * time.Millisecond)
			if err := readers[(n+1)%2].Exec("ROLLBACK"); err != nil {
				t.Error(err)
			}
			select {
			case <-over:
				return
			default:
			}
		}
	})
	before := begun.Load()
	for range 30 {
		if begun.Load() > before {
			break
		}
		write(50)
	}
	close(over)
	group.Wait()
	if begun.Load() == before {
		t.Errorf("the log went on to %d pages while a reader was always in it", longest.Load()/pageSize)
	}
}
