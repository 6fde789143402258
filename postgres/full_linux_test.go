// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
)

// littleRoom makes a database on a file system of its own, which takes root to
// mount, and returns its name and that of a file whose removal makes room.
func littleRoom(t *testing.T) (database, ballast string) {
	t.Helper()
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=24m,mode=0755"); err != nil {
		t.Fatalf("a small file system cannot be mounted: %v; run this as root, where tmpfs may be mounted", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	})
	database = cluster.Database(t)
	space := filepath.Join(folder, "space")
	data, err := os.Stat(filepath.Join(cluster.Folder, "data"))
	if err == nil {
		owner := data.Sys().(*syscall.Stat_t)
		err = errors.Join(os.Mkdir(space, 0o700), os.Chown(space, int(owner.Uid), int(owner.Gid)), os.Chmod(filepath.Dir(folder), 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	run := func(statements ...string) {
		t.Helper()
		for _, sql := range statements {
			if err := cluster.Exec("postgres", sql); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(fmt.Sprintf(`CREATE TABLESPACE little LOCATION '%s'`, space), `ALTER DATABASE `+database+` SET TABLESPACE little`)
	// The server must not find its files gone.
	t.Cleanup(func() { run(`DROP DATABASE `+database+` WITH (FORCE)`, `DROP TABLESPACE little`) })
	return database, filepath.Join(folder, "ballast")
}

func TestAFullDatabaseRefusesAndGoesOnByItself(t *testing.T) {
	database, ballast := littleRoom(t)
	address := cluster.Address(database)
	ledger := open(t, address, postgres.Options{})
	told := &claims{told: map[int64]error{}}
	write := func() error {
		n := told.number.Add(1)
		err := newBenchOperation(n).transactBoth(t.Context(), ledger)
		told.told[n] = err
		return err
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ballast, make([]byte, 24<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the file system: %v", err)
	}
	var err error
	for err == nil && told.number.Load() < 10_000 {
		err = write()
	}
	if !errors.Is(err, deed.ErrUnavailable) || !strings.Contains(err.Error(), "full") || !strings.Contains(err.Error(), "make room") {
		t.Errorf("after %d operations: %v", told.number.Load(), err)
	}
	// What is there can be read.
	view, err := ledger.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: newBenchOperation(1).id()})
	if err != nil || view.Operation == nil {
		t.Errorf("reading: %v, %v", view.Operation, err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := write(); err != nil {
		t.Errorf("after room was made: %v", err)
	}
	told.check(t, address)
}
