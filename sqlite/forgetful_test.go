// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

// forgetfulDisk tells of a failed sync once, to whoever syncs, and has dropped
// what was to be written by then, whoever wrote it.
type forgetfulDisk struct {
	mu    sync.Mutex
	files map[string]*forgetfulFile
	// armed lets the next sync of the file fail; failed says that it has.
	armed, failed bool
	// fails is how many more syncs of the log fail, whoever asks for them.
	fails int
}

type forgetfulFile struct {
	now, synced []byte
	since       []span
}

type span struct{ from, to int }

func (d *forgetfulDisk) file(name string) *forgetfulFile {
	if d.files[name] == nil {
		d.files[name] = &forgetfulFile{}
	}
	return d.files[name]
}

func grown(b []byte, size int) []byte { return append(b, make([]byte, max(0, size-len(b)))...) }

func (d *forgetfulDisk) write(name string, data []byte, at int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.file(name)
	f.now = grown(f.now, int(at)+len(data))
	copy(f.now[at:], data)
	f.since = append(f.since, span{int(at), int(at) + len(data)})
	return nil
}

func (d *forgetfulDisk) arm() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed = true
}

// sync fails for the file once, when it is armed.
func (d *forgetfulDisk) sync(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.file(name)
	switch log := strings.HasSuffix(name, "-wal"); {
	case log && d.fails > 0:
		d.fails, f.since = d.fails-1, nil
		return sqlite3.IOERR_FSYNC
	case !log && d.armed && !d.failed:
		d.failed, f.since = true, nil
		return sqlite3.IOERR_FSYNC
	}
	for _, s := range f.since {
		f.synced = grown(f.synced, s.to)
		copy(f.synced[s.from:s.to], f.now[s.from:s.to])
	}
	f.since = nil
	return nil
}

func (d *forgetfulDisk) truncate(name string, size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.file(name)
	f.now, f.synced = f.now[:min(int64(len(f.now)), size)], f.synced[:min(int64(len(f.synced)), size)]
	for i := range f.since {
		f.since[i].to = max(f.since[i].from, min(f.since[i].to, int(size)))
	}
	f.since = slices.DeleteFunc(f.since, func(s span) bool { return s.from >= s.to })
	return nil
}

func (d *forgetfulDisk) remove(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.files, name)
}

func (d *forgetfulDisk) hasFailed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// save leaves what a loss of power does.
func (d *forgetfulDisk) save(folder string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for name, f := range d.files {
		errs = append(errs, os.WriteFile(filepath.Join(folder, name), f.synced, 0o600))
	}
	return errors.Join(errs...)
}

// When the sync of the file fails after the log was copied, all of it is copied
// again before the log begins anew.
func TestAFailedSyncOfTheFileLosesNothing(t *testing.T) {
	for run := range 5 {
		t.Run(fmt.Sprint(run), func(t *testing.T) {
			d := &forgetfulDisk{files: map[string]*forgetfulFile{}}
			var anew atomic.Bool
			write := func(name string, data []byte, at int64) error {
				if at == 0 && d.hasFailed() && strings.HasSuffix(name, "-wal") {
					anew.Store(true)
				}
				return d.write(name, data, at)
			}
			name := registerVFS(t, &hooks{write: write, truncate: d.truncate, sync: d.sync, remove: d.remove})
			ledger := openAt(t, filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{VFS: name, CheckpointPages: 200, Patience: time.Minute})
			d.arm()
			acknowledged := writeUntil(t, ledger, anew.Load)
			if !anew.Load() {
				t.Fatal("the log never began anew: the test says nothing")
			}
			folder := t.TempDir()
			if err := d.save(folder); err != nil {
				t.Fatal(err)
			}
			left := openAt(t, filepath.Join(folder, "ledger.db"), sqlite.Options{})
			for _, id := range acknowledged {
				if view, err := left.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: id}); err != nil || view.Operation == nil {
					t.Errorf("%s was acknowledged, and a loss of power lost it: %v", id, err)
				}
			}
		})
	}
}

// writeUntil begins operations from four goroutines until it is told to stop,
// and returns those that were acknowledged.
func writeUntil(t *testing.T, ledger *sqlite.Ledger, stop func() bool) []deed.OperationID {
	var mu sync.Mutex
	var acknowledged []deed.OperationID
	var group sync.WaitGroup
	for worker := range int64(4) {
		group.Go(func() {
			for n := worker + 1; n < 2000; n += 4 {
				o, err := begin(t.Context(), ledger, n)
				if err == nil {
					mu.Lock()
					acknowledged = append(acknowledged, o.id())
					mu.Unlock()
				}
				if stop() {
					return
				}
			}
		})
	}
	group.Wait()
	return acknowledged
}

// After a commit of which nobody can know what became, the next one must not
// build on what the disk has dropped.
func TestACommitAfterAnUnknownOneIsOnTheDisk(t *testing.T) {
	d := &forgetfulDisk{files: map[string]*forgetfulFile{}}
	name := registerVFS(t, &hooks{write: d.write, truncate: d.truncate, sync: d.sync, remove: d.remove})
	ledger := openAt(t, filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{VFS: name})
	first, err := begin(t.Context(), ledger, 1)
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	d.fails = 2 // the commit, and what would replace it
	d.mu.Unlock()
	if _, err := begin(t.Context(), ledger, 2); !errors.Is(err, deed.ErrCommitUnknown) {
		t.Fatalf("two syncs failed: %v, want ErrCommitUnknown", err)
	}
	third, err := begin(t.Context(), ledger, 3)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := d.save(folder); err != nil {
		t.Fatal(err)
	}
	left := openAt(t, filepath.Join(folder, "ledger.db"), sqlite.Options{})
	for _, o := range []benchOperation{first, third} {
		if view, err := left.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()}); err != nil || view.Operation == nil {
			t.Errorf("%s was acknowledged, and a loss of power lost it: %v", o.id(), err)
		}
	}
}
