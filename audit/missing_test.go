// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"io/fs"
	"os"
	"path/filepath"
)

// missing is the part of a tree of files that a folder does not have.
type missing struct {
	fs.FS
	from string
}

func (m missing) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(m.FS, name)
	var list []fs.DirEntry
	for _, e := range all {
		if _, gone := os.Stat(filepath.Join(m.from, name, e.Name())); gone != nil || e.IsDir() {
			list = append(list, e)
		}
	}
	return list, err
}
