// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// frameVFS is another VFS that writes the frames of a write-ahead log by fewer
// calls: SQLite writes the header of a frame and then its page.
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

// gatherLimit bounds what is kept of a commit, in bytes.
const gatherLimit = 1 << 20

// frameLog writes the header of a frame and its page by one call, and the frames
// of a commit by one call too. Whatever is kept is written under the lock under
// which SQLite wrote it, so never where another process may have written
// meanwhile:
//
//   - a header is kept until the next call. SQLite makes that next call before
//     it gives up its lock on the log, for a commit ends with a sync;
//   - frames are kept between gather and end, the two sides of a COMMIT: until
//     its sync, or any other call that they do not precede. When it fails
//     without one, end drops them.
type frameLog struct {
	vfs.File
	// kept are bytes for the place at.
	kept      []byte
	at        int64
	gathering bool
}

// frameLogOf returns the log of a connection, nil if it is another file.
func frameLogOf(conn *connection) *frameLog {
	file, err := conn.FileControl("main", sqlite3.FCNTL_JOURNAL_POINTER)
	if err != nil {
		return nil
	}
	log, _ := file.(*frameLog)
	return log
}

// gather keeps the frames that follow. A COMMIT is about to run.
func (l *frameLog) gather() {
	if l != nil {
		l.gathering = true
	}
}

// end drops what a COMMIT that failed never synced, and keeps nothing more.
func (l *frameLog) end() {
	if l != nil {
		l.gathering, l.kept = false, l.kept[:0]
	}
}

// WriteAt implements [vfs.File].
func (l *frameLog) WriteAt(p []byte, at int64) (int, error) {
	header := len(p) == frameHeader
	follows := len(l.kept) > 0 && at == l.at+int64(len(l.kept)) && (l.gathering || !header)
	if !follows {
		if err := l.flush(); err != nil {
			return 0, err
		}
		if !header {
			return l.File.WriteAt(p, at)
		}
		l.at = at
	}
	l.kept = append(l.kept, p...)
	if header || l.gathering && len(l.kept) < gatherLimit {
		return len(p), nil
	}
	if err := l.flush(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// flush writes what is kept. After an error it is gone: SQLite rolls back.
func (l *frameLog) flush() error {
	if len(l.kept) == 0 {
		return nil
	}
	_, err := l.File.WriteAt(l.kept, l.at)
	l.kept = l.kept[:0]
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
