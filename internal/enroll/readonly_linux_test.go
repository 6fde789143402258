// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/deed-run/deed/internal/enroll"
)

// The folder's mode does not bind root, so the test gives up root's rights to
// files for its own thread (setfsuid(2)), which ends with the test's goroutine.
func TestAReadOnlyFolderIsRefusedAndNothingChanges(t *testing.T) {
	target := place(t, "cursor", oneServer)
	dir := filepath.Dir(target.Path)
	if err := os.Chmod(target.Path, 0o666); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{filepath.Dir(dir): 0o755, dir: 0o555} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	for name, opts := range map[string]enroll.Options{
		"the backup": {},
		"the file":   {BackupDir: t.TempDir()},
	} {
		c := plan(t, target, opts)
		done := make(chan error)
		go func() {
			// Never unlocked: the thread and its lowered rights end here.
			runtime.LockOSThread()
			if opts.BackupDir != "" {
				_ = os.Chmod(opts.BackupDir, 0o777)
			}
			if os.Getuid() == 0 {
				_ = syscall.Setfsuid(65534)
			}
			_, err := enroll.Apply(c)
			done <- err
		}()
		err := <-done
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "nothing was changed; make") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if read(t, target.Path) != oneServer {
		t.Error("the file was changed")
	}
}
