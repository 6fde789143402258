// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"encoding/binary"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// gatheringVFS is another VFS whose write-ahead logs are written a transaction
// at a time: SQLite itself writes the header and the page of every frame on
// their own. What is in the file when a write or a sync returns to SQLite
// differs only in frames that belong to no committed transaction yet, which
// nobody reads but the connection that wrote them.
type gatheringVFS struct{ vfs.VFS }

// gathering registers the gathering form of a VFS and returns its name.
func gathering(name string) string {
	own := "deed-" + name
	vfs.Register(own, gatheringVFS{vfs.Find(name)})
	return own
}

// OpenFilename implements [vfs.VFSFilename].
func (v gatheringVFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	var file vfs.File
	var err error
	if by, ok := v.VFS.(vfs.VFSFilename); ok {
		file, flags, err = by.OpenFilename(name, flags)
	} else {
		file, flags, err = v.VFS.Open(name.String(), flags)
	}
	if err != nil || flags&vfs.OPEN_WAL == 0 {
		return file, flags, err
	}
	return &gatheredLog{File: file}, flags, nil
}

const (
	// frameHeader is the length of the header of a frame, which no other write
	// to a log has (https://sqlite.org/fileformat2.html#walformat).
	frameHeader = 24
	// mostGathered bounds the frames that wait in memory.
	mostGathered = 1 << 20
)

// gatheredLog keeps the frames of a transaction until its last one, which its
// header marks, and writes them at once. It does not learn of a rollback: the
// connections on it write no frame before their commit (PRAGMA cache_spill).
type gatheredLog struct {
	vfs.File
	// frames belong at from and follow each other.
	frames []byte
	from   int64
	// inside: the header of a frame is the last of frames, and last says that it
	// ends a transaction.
	inside, last bool
}

// WriteAt implements [vfs.File].
func (l *gatheredLog) WriteAt(p []byte, at int64) (int, error) {
	follows := len(l.frames) > 0 && at == l.from+int64(len(l.frames))
	header := len(p) == frameHeader
	if !follows || header == l.inside {
		if err := l.flush(); err != nil {
			return 0, err
		}
		if !header {
			return l.File.WriteAt(p, at)
		}
		l.from = at
	}
	l.frames = append(l.frames, p...)
	if header {
		l.inside, l.last = true, binary.BigEndian.Uint32(p[4:]) != 0
		return len(p), nil
	}
	l.inside = false
	if l.last || len(l.frames) >= mostGathered {
		if err := l.flush(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// flush writes what waits. After an error nothing waits any more: SQLite rolls
// the transaction back.
func (l *gatheredLog) flush() error {
	if len(l.frames) == 0 {
		return nil
	}
	_, err := l.File.WriteAt(l.frames, l.from)
	l.frames, l.inside = l.frames[:0], false
	return err
}

// flushed is flush before anything but a write.
func (l *gatheredLog) flushed() error {
	return vfs.SystemError(l.flush(), sqlite3.IOERR_WRITE)
}

// ReadAt implements [vfs.File].
func (l *gatheredLog) ReadAt(p []byte, at int64) (int, error) {
	if err := l.flushed(); err != nil {
		return 0, err
	}
	return l.File.ReadAt(p, at)
}

// Truncate implements [vfs.File].
func (l *gatheredLog) Truncate(size int64) error {
	if err := l.flushed(); err != nil {
		return err
	}
	return l.File.Truncate(size)
}

// Sync implements [vfs.File].
func (l *gatheredLog) Sync(flags vfs.SyncFlag) error {
	if err := l.flushed(); err != nil {
		return err
	}
	return l.File.Sync(flags)
}

// Size implements [vfs.File].
func (l *gatheredLog) Size() (int64, error) {
	if err := l.flushed(); err != nil {
		return 0, err
	}
	return l.File.Size()
}

// Close implements [vfs.File]. Frames that wait belong to no transaction that
// was committed.
func (l *gatheredLog) Close() error { return l.File.Close() }
