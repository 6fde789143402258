// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// connection is one handle on the file with its prepared statements. It
// belongs to one goroutine at a time.
type connection struct {
	*sqlite3.Conn
	statements [statementCount]*statement
	// used are the statements to reset when the transaction ends.
	used []*statement
	// memory, in a writing transaction, has operations that are as the file has
	// them, except those that the transaction has touched.
	memory  *hot
	touched map[watchedID]struct{}
}

// statement binds and reads by position, in the order of its text, and keeps
// the first error of a run.
type statement struct {
	*sqlite3.Stmt
	param  int
	column int
	err    error
}

// use returns a statement ready to be bound.
func (c *connection) use(id statementID) *statement {
	s := c.statements[id]
	if s == nil {
		prepared, _, err := c.PrepareFlags(statementTexts[id], sqlite3.PREPARE_PERSISTENT)
		if err != nil {
			return &statement{err: fmt.Errorf("preparing a statement: %w", err)}
		}
		s = &statement{Stmt: prepared}
		c.statements[id] = s
	}
	s.param, s.column, s.err = 0, 0, nil
	return s
}

// hold keeps the statement open until release: in autocommit mode an open
// statement holds the snapshot that the next ones read.
func (c *connection) hold(s *statement) { c.used = append(c.used, s) }

func (c *connection) release() {
	for _, s := range c.used {
		s.end()
	}
	c.used = c.used[:0]
}

// next steps to the next row and puts the reader on its first column.
func (s *statement) next() bool {
	s.column = 0
	if s.err != nil {
		return false
	}
	if s.Step() {
		return true
	}
	s.err = s.Err()
	return false
}

// end resets the statement and returns the first error of the run.
func (s *statement) end() error {
	if s.Stmt == nil {
		return s.err
	}
	if err := s.Reset(); err != nil && s.err == nil {
		s.err = err
	}
	return s.err
}

// run executes a statement that returns nothing.
func (s *statement) run() error {
	if s.err != nil {
		return s.err
	}
	s.err = s.Exec()
	return s.err
}

func (s *statement) keep(err error) {
	if err != nil && s.err == nil {
		s.err = err
	}
}

func (s *statement) text(v string) {
	s.param++
	if s.err == nil {
		s.keep(s.BindText(s.param, v))
	}
}

func (s *statement) blob(v []byte) {
	s.param++
	if s.err == nil {
		s.keep(s.BindBlob(s.param, v))
	}
}

// optional binds text that is NULL when empty.
func (s *statement) optional(v []byte) {
	s.param++
	if s.err == nil {
		s.keep(s.BindRawText(s.param, v))
	}
}

func (s *statement) integer(v int64) {
	s.param++
	if s.err == nil {
		s.keep(s.BindInt64(s.param, v))
	}
}

func (s *statement) boolean(v bool) {
	var n int64
	if v {
		n = 1
	}
	s.integer(n)
}

func (s *statement) moment(t time.Time) {
	if !t.IsZero() {
		s.integer(micros(t))
		return
	}
	s.param++
	if s.err == nil {
		s.keep(s.BindNull(s.param))
	}
}

func (s *statement) operationID(id string) { s.id(operationPrefix, id) }
func (s *statement) eventID(id string)     { s.id(eventPrefix, id) }

func (s *statement) id(prefix, id string) {
	if packed, ok := packID(prefix, id); ok {
		s.blob(packed[:])
		return
	}
	s.text(id)
}

func (s *statement) digest(digest string) {
	if packed, ok := packDigest(digest); ok {
		s.blob(packed[:])
		return
	}
	s.text(digest)
}

func (s *statement) readText() string {
	s.column++
	return s.ColumnText(s.column - 1)
}

// readBytes returns nil for NULL and never nil otherwise.
func (s *statement) readBytes() []byte {
	s.column++
	if s.ColumnType(s.column-1) == sqlite3.NULL {
		return nil
	}
	raw := s.ColumnRawBlob(s.column - 1)
	return append(make([]byte, 0, len(raw)), raw...)
}

func (s *statement) readInteger() int64 {
	s.column++
	return s.ColumnInt64(s.column - 1)
}

func (s *statement) readBoolean() bool { return s.readInteger() != 0 }

func (s *statement) readMoment() time.Time {
	us := s.readInteger()
	if us == 0 && s.ColumnType(s.column-1) == sqlite3.NULL {
		return time.Time{}
	}
	return fromMicros(us)
}

func (s *statement) readID(prefix string) string {
	raw := s.readRaw()
	if len(raw) == 16 && s.ColumnType(s.column-1) == sqlite3.BLOB {
		return unpackID(prefix, raw)
	}
	return string(raw)
}

func (s *statement) readDigest() string {
	raw := s.readRaw()
	if len(raw) == 32 && s.ColumnType(s.column-1) == sqlite3.BLOB {
		return unpackDigest(raw)
	}
	return string(raw)
}

// readRaw returns the bytes of text or a blob, valid until the next step.
func (s *statement) readRaw() []byte {
	s.column++
	return s.ColumnRawBlob(s.column - 1)
}
