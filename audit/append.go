// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// appender has the log to itself until it is closed.
type appender struct {
	*Log
	signer note.Signer
	locked *os.File
	at     Checkpoint
}

// openAppender fails with ErrBusy while another process appends: two that did at
// once would sign two histories of the same length.
func openAppender(dir, private string) (*appender, error) {
	l, signer, err := withKey(dir, private)
	if err != nil {
		return nil, err
	}
	at, err := l.Checkpoint()
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(l.file("lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("appending to the log %s: %w; nothing was appended", dir, err)
	}
	free, err := lock(file)
	if err == nil && !(free && l.isLock(file)) {
		err = ErrBusy
	}
	if err == nil {
		at, err = l.Checkpoint() // the latest, now that nobody else makes one
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("appending to the log %s: %w; nothing was appended", dir, err), file.Close())
	}
	return &appender{Log: l, signer: signer, locked: file, at: at}, nil
}

// isLock reports whether the file that is held is the one that others look for:
// somebody may have removed it.
func (l *Log) isLock(file *os.File) bool {
	held, err := file.Stat()
	there, also := os.Stat(l.file("lock"))
	return err == nil && also == nil && os.SameFile(held, there)
}

func (a *appender) close() error { return a.locked.Close() }

// append adds records and publishes the checkpoint with them. What a crash leaves
// half-way lies outside the tree of the latest checkpoint, and is written again.
func (a *appender) append(records [][]byte) error {
	if len(records) == 0 {
		return nil
	}
	tree := grown{a.hashes(a.at), map[int64]tlog.Hash{}}
	size := a.at.Size
	for _, record := range records {
		if err := tree.add(size, record); err != nil {
			return a.failed(err)
		}
		size++
	}
	if err := a.writeEntries(records, size); err != nil {
		return a.failed(err)
	}
	for _, tile := range tlog.NewTiles(height, a.at.Size, size) {
		data, err := tlog.ReadTileData(tile, tree)
		if err == nil {
			err = a.put(a.tilePath(tile), data)
		}
		if err != nil {
			return a.failed(err)
		}
	}
	root, err := tlog.TreeHash(size, tree)
	if err != nil {
		return a.failed(err)
	}
	// Whoever removed the lock may have let another one in.
	if latest, err := a.Checkpoint(); err != nil || latest.Size != a.at.Size || latest.Root != a.at.Root {
		return a.failed(errors.Join(ErrBusy, err))
	}
	next, err := a.publish(Checkpoint{Size: size, Root: root}, a.signer)
	if err != nil {
		return err
	}
	a.tidy(size)
	a.at = next
	return nil
}

func (a *appender) failed(err error) error {
	return fmt.Errorf("appending to the log %s after %d records: %w; its checkpoint is as it was", a.dir, a.at.Size, err)
}

// writeEntries writes the bundles that the new records are in, after those that
// were in the last one.
func (a *appender) writeEntries(records [][]byte, size int64) error {
	n, before := a.at.Size/width, int(a.at.Size%width)
	var entries [][]byte
	if before > 0 {
		var err error
		if entries, err = a.bundle(n, before); err != nil {
			return err
		}
	}
	entries = append(entries, records...)
	for ; n*width < size; n++ {
		wide := int(min(width, size-n*width))
		if err := a.put(a.path("entries", n, wide), bundled(entries[:wide])); err != nil {
			return err
		}
		entries = entries[wide:]
	}
	return nil
}

// tidy removes the partial tiles of those that are full now. The others stay: an
// earlier checkpoint is read by them (tlog-tiles, "Partial Tiles").
func (a *appender) tidy(size int64) {
	for level, before, after := 0, a.at.Size, size; before > 0; level, before, after = level+1, before/width, after/width {
		if n := before / width; before%width > 0 && n < after/width {
			_ = os.RemoveAll(a.path(fmt.Sprint(level), n, width) + ".p")
			if level == 0 {
				_ = os.RemoveAll(a.path("entries", n, width) + ".p")
			}
		}
	}
}
