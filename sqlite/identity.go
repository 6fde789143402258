// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"fmt"
	"os"

	"github.com/deed-run/deed"
)

// files are the ledger's file, its log and the index of that as a connection opened
// them. Processes that have different files under one path share no locks: each
// of them would claim the same key. What is written into a log that has no name any
// more is gone with the process.
type files map[string]os.FileInfo

// filesOf remembers the files at a path; what cannot be looked at is not
// compared later.
func filesOf(path string) files {
	found := files{}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if info, err := os.Stat(name); err == nil {
			found[name] = info
		}
	}
	return found
}

// check returns an error when a file is no longer the one that was opened.
func (f files) check() error {
	for name, opened := range f {
		if unchanged(name, opened) {
			continue
		}
		return fmt.Errorf("%w: %s was moved, removed or replaced under this process; nothing was written: put the files back or restart", deed.ErrUnavailable, name)
	}
	return nil
}

func stillThere(name string, opened os.FileInfo) bool {
	now, err := os.Stat(name)
	return err == nil && os.SameFile(now, opened)
}
