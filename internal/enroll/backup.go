// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A backup's name carries the digest of the file that replaced it and of its own
// content, so that finding the right backup needs no record beside it and a
// damaged one is never put back.
const (
	initBackup = "before-deed"   // what a file was before deed came in
	undoBackup = "before-uninit" // what an edited file was before deed went out
)

type backup struct {
	path    string
	after   string // digest of the file that replaced content
	content []byte
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// backupPrefix is the place and the first part of the names of a file's backups.
func backupPrefix(opts Options, path, kind string) (dir, prefix string) {
	base := filepath.Base(path)
	if opts.BackupDir == "" {
		return filepath.Dir(path), base + "." + kind + "."
	}
	return opts.BackupDir, base + "." + digest([]byte(path)) + "." + kind + "."
}

func backupPath(opts Options, path, kind string, after, before []byte) string {
	dir, prefix := backupPrefix(opts, path, kind)
	return filepath.Join(dir, prefix+digest(after)+"."+digest(before))
}

// backups returns the undamaged backups that Apply of a Plan left for path.
func backups(opts Options, path string) ([]backup, error) {
	dir, prefix := backupPrefix(opts, path, initBackup)
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &FileError{Path: path, Problem: "the backups in " + dir + " cannot be listed", Remedy: "make the folder readable and run the command again", Err: err}
	}
	var found []backup
	for _, f := range files {
		rest, ok := strings.CutPrefix(f.Name(), prefix)
		after, own, two := strings.Cut(rest, ".")
		if !ok || !two || !f.Type().IsRegular() {
			continue
		}
		b := backup{path: filepath.Join(dir, f.Name()), after: after}
		if b.content, err = os.ReadFile(b.path); err != nil {
			return nil, &FileError{Path: path, Problem: "the backup " + b.path + " cannot be read", Remedy: "make it readable, or move it away to have only deed's entries edited back", Err: err}
		}
		if digest(b.content) == own {
			found = append(found, b)
		}
	}
	return found, nil
}
