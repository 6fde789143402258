// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// room is the size of the file system of a database in little room. A new
// database takes half of it.
const room = 24 << 20

// inLittleRoom moves the fleet's database, which nobody uses yet, to a file
// system of its own. That takes root.
func (f *fleet) inLittleRoom() {
	f.Helper()
	f.small = f.TempDir()
	if err := syscall.Mount("tmpfs", f.small, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0755", room)); err != nil {
		f.Fatalf("a small file system cannot be mounted: %v; run this as root, where tmpfs may be mounted", err)
	}
	f.Cleanup(func() { f.must(syscall.Unmount(f.small, 0)) })
	space := filepath.Join(f.small, "space")
	f.must(os.Mkdir(space, 0o700))
	data, err := os.Stat(filepath.Join(f.server.Folder, "data"))
	f.must(err)
	owner := data.Sys().(*syscall.Stat_t)
	f.must(os.Chown(space, int(owner.Uid), int(owner.Gid)))
	f.must(os.Chmod(filepath.Dir(f.small), 0o755))
	name := "little_" + f.database
	for _, sql := range []string{
		fmt.Sprintf(`CREATE TABLESPACE %s LOCATION '%s'`, name, space), fmt.Sprintf(`ALTER DATABASE %s SET TABLESPACE %s`, f.database, name),
	} {
		f.must(f.server.Exec(f.Context(), "postgres", sql))
	}
	f.Cleanup(func() {
		// The server must not find its files gone.
		for _, sql := range []string{fmt.Sprintf(`DROP DATABASE %s WITH (FORCE)`, f.database), `DROP TABLESPACE ` + name} {
			f.must(f.server.Exec(context.Background(), "postgres", sql))
		}
	})
}

// fillUp leaves the database next to no room until ends is called.
func (f *fleet) fillUp() (ends func()) {
	f.Helper()
	ballast, err := os.Create(filepath.Join(f.small, "ballast"))
	f.must(err)
	_, err = io.CopyN(ballast, zeros{}, room)
	if !errors.Is(err, syscall.ENOSPC) {
		f.Fatalf("filling the file system: %v", err)
	}
	f.must(ballast.Close())
	return func() { f.must(os.Remove(ballast.Name())) }
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
