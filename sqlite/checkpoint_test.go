// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

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
