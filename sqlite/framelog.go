// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// frameVFS is another VFS that writes each frame of a write-ahead log by one
// call: SQLite writes the header of a frame and then its page.
type frameVFS struct{ vfs.VFS }

// framing registers the form of a VFS that writes whole frames, and returns its
// name; that of a VFS which is not there as it is.
func framing(name string) string {
	base := vfs.Find(name)
	if base == nil {
		return name
	}
	own := "deed-" + name
	vfs.Register(own, frameVFS{base})
	return own
}

// OpenFilename implements [vfs.VFSFilename].
func (v frameVFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
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
	return &frameLog{File: file}, flags, nil
}

// frameHeader is the length of the header of a frame, which no other write to a
// log has (https://sqlite.org/fileformat2.html#walformat).
const frameHeader = 24

// frameLog keeps the header of a frame until the next call, which brings the
// page. It keeps nothing beyond that, and a commit ends with a sync: SQLite makes
// that next call before it gives up its lock on the log, so that nothing is
// written where another process may have written meanwhile.
type frameLog struct {
	vfs.File
	// frame begins with the header that is kept, if one is, for the place at.
	frame []byte
	at    int64
	kept  bool
}

// WriteAt implements [vfs.File].
func (l *frameLog) WriteAt(p []byte, at int64) (int, error) {
	if l.kept && at == l.at+frameHeader && len(p) != frameHeader {
		l.kept = false
		l.frame = append(l.frame, p...)
		n, err := l.File.WriteAt(l.frame, l.at)
		return max(n-frameHeader, 0), err
	}
	if err := l.flush(); err != nil {
		return 0, err
	}
	if len(p) != frameHeader {
		return l.File.WriteAt(p, at)
	}
	l.frame, l.at, l.kept = append(l.frame[:0], p...), at, true
	return len(p), nil
}

// flush writes a header that no page follows, as when SQLite corrects the
// checksums of frames. After an error it is gone: SQLite rolls back.
func (l *frameLog) flush() error {
	if !l.kept {
		return nil
	}
	l.kept = false
	_, err := l.File.WriteAt(l.frame, l.at)
	return err
}

// flushed is flush before anything but a write.
func (l *frameLog) flushed() error { return vfs.SystemError(l.flush(), sqlite3.IOERR_WRITE) }

// ReadAt implements [vfs.File].
func (l *frameLog) ReadAt(p []byte, at int64) (int, error) {
	if err := l.flushed(); err != nil {
		return 0, err
	}
	return l.File.ReadAt(p, at)
}

// Truncate implements [vfs.File].
func (l *frameLog) Truncate(size int64) error {
	if err := l.flushed(); err != nil {
		return err
	}
	return l.File.Truncate(size)
}

// Sync implements [vfs.File].
func (l *frameLog) Sync(flags vfs.SyncFlag) error {
	if err := l.flushed(); err != nil {
		return err
	}
	return l.File.Sync(flags)
}

// Size implements [vfs.File].
func (l *frameLog) Size() (int64, error) {
	if err := l.flushed(); err != nil {
		return 0, err
	}
	return l.File.Size()
}
