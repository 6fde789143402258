// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

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
