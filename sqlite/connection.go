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
	// bound is what the parameters have since the run before, empty for a
	// statement that is not kept: SQLite keeps it, and most of it is bound again.
	bound []bound
}

// use returns a statement ready to be bound.
func (c *connection) use(id statementID) *statement {
	s := c.statements[id]
	if s == nil {
		prepared, _, err := c.PrepareFlags(statementTexts[id], sqlite3.PREPARE_PERSISTENT)
		if err != nil {
			return &statement{err: fmt.Errorf("preparing a statement: %w", err)}
		}
		s = &statement{Stmt: prepared, bound: make([]bound, prepared.BindCount())}
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
