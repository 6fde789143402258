// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
)

// logIndex reads the header of the index of the write-ahead log, which all
// processes share. Its format is documented: https://sqlite.org/walformat.html
// (the WAL-index header).
type logIndex struct{ file *os.File }

// logHeader is the header: it names the last commit by its number, its place in
// the log, and a running checksum over everything in the log.
type logHeader [48]byte

// changes counts the commits: the number rises by one with each.
func (h logHeader) changes() uint32 { return binary.NativeEndian.Uint32(h[8:]) }

// openLogIndex opens the index beside a ledger, nil where it cannot be read
// beside the mapping that SQLite has of it.
func openLogIndex(path string) *logIndex {
	if runtime.GOOS == "windows" {
		return nil
	}
	file, err := os.Open(path + "-shm")
	if err != nil {
		return nil
	}
	return &logIndex{file}
}

// header returns the header, false while it is being written or cannot be
// read.
func (x *logIndex) header() (logHeader, bool) {
	if x == nil {
		return logHeader{}, false
	}
	// There are two copies, written one after the other.
	var both [2 * len(logHeader{})]byte
	if _, err := x.file.ReadAt(both[:], 0); err != nil {
		return logHeader{}, false
	}
	first, second := both[:len(logHeader{})], both[len(logHeader{}):]
	initialised := first[12] != 0
	return logHeader(first), initialised && bytes.Equal(first, second)
}

func (x *logIndex) shut() {
	if x != nil {
		x.file.Close()
	}
}
