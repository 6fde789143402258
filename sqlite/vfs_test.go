// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"
)

// hooks see what SQLite does to files before the operating system does. An
// error keeps the operation from happening and is what SQLite hears.
type hooks struct {
	write    func(file string, data []byte, at int64) error
	truncate func(file string, size int64) error
	sync     func(file string) error
	remove   func(file string)
}

// hookedVFS is the operating system's VFS with hooks.
type hookedVFS struct {
	vfs.VFSFilename
	hooks *hooks
}

// registerVFS makes the hooks available under the name it returns.
func registerVFS(t *testing.T, h *hooks) string {
	t.Helper()
	name := strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())
	vfs.Register(name, hookedVFS{vfs.Find("").(vfs.VFSFilename), h})
	t.Cleanup(func() { vfs.Unregister(name) })
	return name
}

func (v hookedVFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := v.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return file, flags, err
	}
	return &hookedFile{file, filepath.Base(name.String()), v.hooks}, flags, nil
}

func (v hookedVFS) Delete(name string, syncDir bool) error {
	err := v.VFSFilename.Delete(name, syncDir)
	if err == nil && v.hooks.remove != nil {
		v.hooks.remove(filepath.Base(name))
	}
	return err
}

type hookedFile struct {
	vfs.File
	name  string
	hooks *hooks
}

func (f *hookedFile) WriteAt(data []byte, at int64) (int, error) {
	if f.hooks.write != nil {
		if err := f.hooks.write(f.name, data, at); err != nil {
			return 0, err
		}
	}
	return f.File.WriteAt(data, at)
}

func (f *hookedFile) Truncate(size int64) error {
	if f.hooks.truncate != nil {
		if err := f.hooks.truncate(f.name, size); err != nil {
			return err
		}
	}
	return f.File.Truncate(size)
}

func (f *hookedFile) Sync(flags vfs.SyncFlag) error {
	if f.hooks.sync != nil {
		if err := f.hooks.sync(f.name); err != nil {
			return err
		}
	}
	return f.File.Sync(flags)
}

func (f *hookedFile) SharedMemory() vfs.SharedMemory {
	return f.File.(vfs.FileSharedMemory).SharedMemory()
}

func (f *hookedFile) LockState() vfs.LockLevel { return f.File.(vfs.FileLockState).LockState() }

// fault is a failure that can be switched on and off.
type fault struct {
	mu  sync.Mutex
	err error
}

func (f *fault) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fault) now() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
