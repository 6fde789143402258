// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

const sectorSize = 512

// disk keeps, for each file, what would be there after a loss of power: what
// was synced, and of what was written since, any sectors in any of the states
// that they went through.
type disk struct {
	mu    sync.Mutex
	files map[string]*diskFile
	// lies makes the sync of a file pass without effect.
	lies func(file string) bool
	// before is called at every sync, before it takes effect.
	before func()
}

type diskFile struct {
	synced []byte
	now    []byte
	// since are the states of the sectors written since the last sync.
	since map[int64][][]byte
	// known is false until the first sync of the file: its name may be lost.
	known bool
}

func (d *disk) hooks() *hooks {
	return &hooks{write: d.write, truncate: d.truncate, sync: d.sync, remove: d.remove}
}

func (d *disk) file(name string) *diskFile {
	f := d.files[name]
	if f == nil {
		f = &diskFile{since: map[int64][][]byte{}}
		d.files[name] = f
	}
	return f
}

func (d *disk) write(name string, data []byte, at int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.file(name)
	f.now = slices.Grow(f.now, max(0, int(at)+len(data)-len(f.now)))
	f.now = f.now[:max(len(f.now), int(at)+len(data))]
	copy(f.now[at:], data)
	for sector := at / sectorSize; sector*sectorSize < at+int64(len(data)); sector++ {
		f.since[sector] = append(f.since[sector], bytes.Clone(f.now[sector*sectorSize:min(int64(len(f.now)), (sector+1)*sectorSize)]))
	}
	return nil
}

// truncate is taken for durable at once: only the log is ever cut, when it is
// of no use any more.
func (d *disk) truncate(name string, size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.file(name)
	f.now = f.now[:min(int64(len(f.now)), size)]
	f.synced = f.synced[:min(int64(len(f.synced)), size)]
	maps.DeleteFunc(f.since, func(sector int64, _ [][]byte) bool { return sector*sectorSize >= size })
	return nil
}

func (d *disk) sync(name string) error {
	if d.before != nil {
		d.before()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lies != nil && d.lies(name) {
		return nil
	}
	f := d.file(name)
	f.synced, f.known = bytes.Clone(f.now), true
	clear(f.since)
	return nil
}

func (d *disk) remove(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.files, name)
}

// cut returns what a loss of power at this moment may leave.
func (d *disk) cut(random *rand.Rand) map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		f := d.files[name]
		if !f.known && random.IntN(2) == 0 {
			continue
		}
		image := bytes.Clone(f.synced)
		for _, sector := range slices.Sorted(maps.Keys(f.since)) {
			states := f.since[sector]
			state := random.IntN(len(states) + 1)
			if state == len(states) {
				continue
			}
			at := int(sector * sectorSize)
			if missing := at + len(states[state]) - len(image); missing > 0 {
				image = append(image, make([]byte, missing)...)
			}
			copy(image[at:], states[state])
		}
		left[name] = image
	}
	return left
}

// survivor is an image and what had been promised by then.
type survivor struct {
	files        map[string][]byte
	acknowledged map[deed.OperationID]bool // true: settled
}

// losePower runs a workload through the simulated disk and has what may be left
// at each sync judged, for each seed. Whoever syncs stands still meanwhile.
func losePower(t *testing.T, lies func(string) bool, operations int, seeds uint64, judge func(survivor)) {
	t.Helper()
	d := &disk{files: map[string]*diskFile{}, lies: lies}
	name := registerVFS(t, d.hooks())
	var mu sync.Mutex
	acknowledged := map[deed.OperationID]bool{}
	syncs := uint64(0)
	ledger, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{VFS: name, CheckpointPages: 64, Patience: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	var one sync.Mutex // the writer syncs, and whoever copies the log
	d.before = func() {
		one.Lock()
		defer one.Unlock()
		mu.Lock()
		promised := maps.Clone(acknowledged)
		mu.Unlock()
		syncs++
		for seed := range seeds {
			judge(survivor{d.cut(rand.New(rand.NewPCG(syncs, seed))), promised})
		}
	}
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for n := worker; n < operations; n += 4 {
				o := newBenchOperation(int64(n))
				if n%3 == 0 {
					o.begin.Put[0].Arguments = bytes.Repeat([]byte("deed"), 5_000)
				}
				for i, change := range []deed.Change{o.begin, o.settle} {
					if _, err := ledger.Transact(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()}, func(deed.View) (deed.Change, error) { return change, nil }); err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					acknowledged[o.id()] = i == 1
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	if err := ledger.Close(); err != nil {
		t.Error(err)
	}
}

var errCorrupt = errors.New("the file is damaged")

// inspect opens what is left and says what is wrong with it.
func inspect(t *testing.T, s survivor) (lost int, err error) {
	t.Helper()
	folder := t.TempDir()
	defer os.RemoveAll(folder)
	for name, data := range s.files {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			return 0, err
		}
	}
	path := filepath.Join(folder, "ledger.db")
	ledger, err := sqlite.Open(t.Context(), path, sqlite.Options{Readers: 1})
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errCorrupt, err)
	}
	for id, settled := range s.acknowledged {
		if why := missing(t.Context(), ledger, id, settled); why != "" {
			lost++
		}
	}
	if err := ledger.Close(); err != nil {
		return lost, err
	}
	conn, err := sqlite3.Open(path)
	if err != nil {
		return lost, err
	}
	defer conn.Close()
	if got, err := query(conn, "PRAGMA integrity_check"); err != nil || len(got) != 1 || got[0] != "ok" {
		return lost, fmt.Errorf("%w: %v, %v", errCorrupt, got, err)
	}
	return lost, nil
}

// powerRuns is how much of the simulation runs; campaigns run more of it.
func powerRuns(t *testing.T) (operations int, seeds uint64) {
	if os.Getenv("DEED_CAMPAIGN") != "" {
		return 200, 5
	}
	return 60, 2
}

func TestALossOfPowerLosesNothingThatWasAcknowledged(t *testing.T) {
	operations, seeds := powerRuns(t)
	images := 0
	losePower(t, nil, operations, seeds, func(s survivor) {
		images++
		if lost, err := inspect(t, s); lost > 0 || err != nil {
			t.Errorf("image %d: %d of %d lost, %v", images, lost, len(s.acknowledged), err)
		}
	})
	t.Logf("%d images", images)
	if images < operations {
		t.Errorf("only %d images: the test says nothing", images)
	}
}

// Disks whose syncs do nothing must be caught, or the test above proves
// nothing: first those that lie about the log only, which is what a weaker
// setting of synchronous amounts to, then those that always lie.
func TestTheSimulationNoticesMissingSyncs(t *testing.T) {
	for name, lies := range map[string]func(string) bool{
		"of the log":  func(file string) bool { return strings.HasSuffix(file, "-wal") },
		"of anything": func(string) bool { return true },
	} {
		t.Run(name, func(t *testing.T) {
			bad := 0
			losePower(t, lies, 24, 2, func(s survivor) {
				if lost, err := inspect(t, s); lost > 0 || err != nil {
					bad++
				}
			})
			if bad == 0 {
				t.Error("every image was whole")
			}
			t.Logf("%d images were not whole", bad)
		})
	}
}
