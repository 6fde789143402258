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

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

// While a commit is on its way to the disk, a look is answered by another
// connection, and sees nothing of it.
func TestALookDoesNotWaitForACommit(t *testing.T) {
	var holds atomic.Bool
	held, release := make(chan struct{}), make(chan struct{})
	hook := &hooks{sync: func(file string) error {
		if strings.HasSuffix(file, "-wal") && holds.CompareAndSwap(true, false) {
			close(held)
			<-release
		}
		return nil
	}}
	ledger := openAt(t, filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{VFS: registerVFS(t, hook), Memory: -1})
	before, err := begin(t.Context(), ledger, 1)
	if err != nil {
		t.Fatal(err)
	}
	holds.Store(true)
	done := make(chan error, 1)
	go func() {
		_, err := begin(t.Context(), ledger, 2)
		done <- err
	}()
	<-held
	looked := make(chan error, 1)
	go func() {
		view, err := ledger.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: before.id()})
		if err == nil && view.Operation == nil {
			err = errors.New("what was committed is not there")
		}
		later, laterErr := ledger.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: newBenchOperation(2).id()})
		if later.Operation != nil {
			err = errors.Join(err, errors.New("what is not committed is there"))
		}
		looked <- errors.Join(err, laterErr)
	}()
	select {
	case err := <-looked:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("a look waits for the disk")
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Looks and writes that go on while the ledger is closed are served or told so.
func TestALedgerIsClosedWhileOthersLook(t *testing.T) {
	for range 20 {
		ledger, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{CheckpointPages: 10})
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for caller := range int64(4) {
			group.Go(func() {
				for n := caller + 1; ; n += 4 {
					o, err := begin(t.Context(), ledger, n)
					if err == nil {
						_, err = ledger.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()})
					}
					if errors.Is(err, deed.ErrClosed) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		time.Sleep(5 * time.Millisecond)
		if err := ledger.Close(); err != nil {
			t.Error(err)
		}
		group.Wait()
	}
}
