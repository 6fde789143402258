// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Apply writes the change: first the backup, then the file, each as a whole
// (temporary file, fsync, rename), the file with the mode it had. It returns the
// backup's path, empty when none was needed: an empty change, or an exact Undo,
// whose result is the backup itself.
//
// A file that is no longer what the change was planned for is left alone, as is
// one that is marked read-only; the error is a [*FileError].
func Apply(c Change) (string, error) {
	if c.Empty() {
		return "", nil
	}
	refuse := func(problem, remedy string, err error) (string, error) {
		return "", &FileError{Path: c.Path, Problem: problem, Remedy: remedy, Err: err}
	}
	now, err := os.ReadFile(c.Path)
	switch {
	case err != nil:
		return refuse("the file cannot be read", "make it readable and run the command again", err)
	case !bytes.Equal(now, c.Before):
		return refuse("the file was changed by someone else in the meantime", "run the command again", nil)
	case c.mode&0o200 == 0:
		return refuse("the file is marked read-only", "make it writable (chmod u+w) and run the command again", fs.ErrPermission)
	}
	if c.backup != "" {
		if err := os.MkdirAll(filepath.Dir(c.backup), 0o700); err != nil {
			return refuse("no backup can be kept in "+filepath.Dir(c.backup), "make the folder writable and run the command again", err)
		}
		// Configuration files hold secrets: a backup is for its owner alone.
		if err := replaceFile(c.backup, c.Before, 0o600); err != nil {
			return refuse("the backup "+c.backup+" cannot be written", "make its folder writable, or free some space, and run the command again", err)
		}
	}
	if err := replaceFile(c.Path, c.After, c.mode); err != nil {
		return refuse("the file cannot be written", "make its folder writable, or free some space, and run the command again", err)
	}
	for _, path := range c.spent {
		// The file itself now holds this content; a copy left behind is harmless.
		_ = os.Remove(path)
	}
	return c.backup, nil
}

// replaceFile puts data at path so that a reader, or a crash, sees the old file
// or the new one and nothing between.
func replaceFile(path string, data []byte, mode fs.FileMode) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".deed-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreClosed(f.Close()), os.Remove(f.Name()))
		}
	}()
	if _, err = f.Write(data); err != nil {
		return err
	}
	if err = f.Chmod(mode); err != nil && runtime.GOOS != "windows" {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	syncDir(dir)
	return nil
}

// syncDir makes the rename durable where the system can; the file is whole
// either way, so a refusal is no failure.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
