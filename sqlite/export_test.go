// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/deed-run/deed"
)

// StatementTexts returns the statements that connections prepare.
func StatementTexts() []string { return statementTexts[:] }

// PackID and its companions are the encodings of ids and digests.
func PackID(prefix, id string) ([16]byte, bool)    { return packID(prefix, id) }
func UnpackID(prefix string, packed []byte) string { return unpackID(prefix, packed) }
func PackDigest(digest string) ([32]byte, bool)    { return packDigest(digest) }
func UnpackDigest(packed []byte) string            { return unpackDigest(packed) }

// NewestVersion is the schema's.
func NewestVersion() int64 { return newestVersion() }

// Migrations returns the texts in order.
func Migrations() ([]string, error) { return migrations() }

// AttemptsText is attemptsText.
func AttemptsText(attempts []deed.Attempt) ([]byte, error) { return attemptsText(attempts) }

// ListTexts returns the statements by which a query is answered.
func ListTexts(query deed.Query) []string {
	var texts []string
	for _, part := range partsOf(query) {
		texts = append(texts, listText(indexFor(query, part), append([]condition{part}, conditionsOf(query)...)))
	}
	return texts
}

// FrameLog writes the frames of a log whole.
func FrameLog(file vfs.File) vfs.File { return &frameLog{File: file} }

// Gather is gather.
func Gather(log vfs.File) { log.(*frameLog).gather() }

// EndGather is end.
func EndGather(log vfs.File) { log.(*frameLog).end() }

// LoseWriter drops the writing connection, as after a write that failed.
func LoseWriter(l *Ledger) {
	l.writer.turn.Lock()
	defer l.writer.turn.Unlock()
	l.writer.drop()
}

// Framing is framing.
func Framing(name string) string { return framing(name) }

// Waited is the number of pages of the log, and of those it had when readers were
// last waited for.
func Waited(l *Ledger) (pages, then int) {
	l.writer.turn.Lock()
	defer l.writer.turn.Unlock()
	return l.writer.behind, l.writer.grown
}
