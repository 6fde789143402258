// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// put writes a file of the log whole and durably, with the folders that lead to
// it, or leaves what was there. What a crash leaves is written over the next time.
func (l *Log) put(path string, data []byte) (err error) {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	for ; ; folder = filepath.Dir(folder) {
		if err := syncFolder(folder); err != nil || len(folder) <= len(l.dir) {
			return err
		}
	}
}

// syncFolder makes the names in a folder durable; Windows has no such thing.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// whole reads a tile or a bundle; of one that has become full since, which then
// is all there is, the whole.
func (l *Log) whole(kind string, n int64, wide int) ([]byte, error) {
	data, err := os.ReadFile(l.path(kind, n, wide))
	if errors.Is(err, fs.ErrNotExist) && wide < width {
		return os.ReadFile(l.path(kind, n, width))
	}
	return data, err
}
