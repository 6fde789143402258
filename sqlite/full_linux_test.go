// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

// The same on a real file system that is full, which takes root to mount.
func TestAFullFileSystem(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small file system cannot be mounted here (%v); the simulated one above stands in", err)
	}
	t.Cleanup(func() { syscall.Unmount(folder, 0) })
	ballast := filepath.Join(folder, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 200<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "ledger.db")
	ledger, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	acknowledged, err := fillUp(t, ledger)
	checkFull(t, ledger, acknowledged, err)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if _, err := begin(t.Context(), ledger, 100_000); err != nil {
		t.Errorf("after room was made: %v", err)
	}
	if err := ledger.Close(); err != nil {
		t.Error(err)
	}
	checkAcknowledged(t, path, acknowledged)
}

// A write that found no room costs the ledger its connection, the only one as
// long as nobody lists or watches; it goes on all the same.
func TestAFullFileSystemWithNobodyElseLooking(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("a small file system cannot be mounted here (%v)", err)
	}
	t.Cleanup(func() { syscall.Unmount(folder, 0) })
	path := filepath.Join(folder, "ledger.db")
	touch := func(ledger *sqlite.Ledger, value string) error {
		_, err := ledger.Setting(t.Context(), "a", func([]byte) []byte { return []byte(value) })
		return err
	}
	first := openAt(t, path, sqlite.Options{})
	if err := errors.Join(touch(first, "1"), first.Close()); err != nil {
		t.Fatal(err)
	}
	ledger := openAt(t, path, sqlite.Options{})
	if err := touch(ledger, "2"); err != nil {
		t.Fatal(err)
	}
	large := newBenchOperation(1)
	large.begin.Put[0].Arguments = fmt.Appendf(nil, `{"note":%q}`, strings.Repeat("x", 4_000_000))
	if _, err := ledger.Transact(t.Context(), deed.Scope{Tenant: benchTenant}, func(deed.View) (deed.Change, error) { return large.begin, nil }); !errors.Is(err, deed.ErrUnavailable) {
		t.Fatalf("4 MB on a disk of 2: %v", err)
	}
	if err := touch(ledger, "3"); err != nil {
		t.Errorf("the next write, for which there is room: %v", err)
	}
}
