// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/deed-run/deed"
)

// OpenError says why a ledger cannot be opened and what to do about it. It
// matches deed.ErrUnavailable, and deed.ErrLedgerVersion where that is the
// reason.
type OpenError struct {
	Path string
	// Problem is what is in the way, Remedy what to do.
	Problem string
	Remedy  string
	Err     error
}

func (e *OpenError) Error() string {
	text := fmt.Sprintf("ledger %s: %s; nothing was changed; %s", e.Path, e.Problem, e.Remedy)
	if e.Err != nil {
		text += " (" + e.Err.Error() + ")"
	}
	return text
}

// Unwrap makes the error match deed.ErrUnavailable and its cause.
func (e *OpenError) Unwrap() []error {
	if e.Err == nil {
		return []error{deed.ErrUnavailable}
	}
	return []error{deed.ErrUnavailable, e.Err}
}

// ledgerFailed reports whether an error is one of the file, the disk or the
// locks, and no fault of the request that met it.
func ledgerFailed(err error) bool {
	var code sqlite3.ErrorCode
	if errors.As(err, new(changeError)) || !errors.As(err, &code) {
		return false
	}
	switch code {
	case sqlite3.CONSTRAINT, sqlite3.TOOBIG, sqlite3.MISMATCH, sqlite3.RANGE:
		return false
	}
	return true
}

// broken reports whether a connection should not be used after an error.
func broken(err error) bool {
	return ledgerFailed(err) && !errors.Is(err, sqlite3.BUSY) && !errors.Is(err, sqlite3.FULL)
}

// explain turns an error of SQLite into one that a caller of the Store can
// act upon.
func (l *Ledger) explain(doing string, err error) error {
	switch {
	case err == nil, errors.As(err, new(changeError)), errors.Is(err, deed.ErrUnavailable):
		return err
	case errors.Is(err, deed.ErrCommitUnknown):
		return fmt.Errorf("%s the ledger %s: %s: %w", doing, l.path, remedy(err), err)
	case !ledgerFailed(err):
		var code sqlite3.ErrorCode
		if errors.As(err, &code) {
			return fmt.Errorf("%s the ledger %s: the change was refused and nothing of it was written: %w", doing, l.path, err)
		}
		return err
	}
	return fmt.Errorf("%s the ledger %s: %w: %s; nothing was written: %w", doing, l.path, deed.ErrUnavailable, remedy(err), err)
}

// remedy says what is wrong and what to do, in words.
func remedy(err error) string {
	switch {
	case errors.Is(err, sqlite3.BUSY):
		return "another process has held its lock for too long; try again, and look for a process that is stopped while it writes"
	case errors.Is(err, sqlite3.FULL):
		return "the disk is full; make room, the ledger goes on by itself"
	case errors.Is(err, sqlite3.CORRUPT), errors.Is(err, sqlite3.NOTADB):
		return "the file is damaged; stop, keep a copy of it with its -wal file, and restore a backup or recover it with the sqlite3 shell"
	case errors.Is(err, sqlite3.READONLY), errors.Is(err, sqlite3.PERM), errors.Is(err, sqlite3.CANTOPEN), errors.Is(err, sqlite3.AUTH):
		return "the file or its folder cannot be written; check their owner and mode, and whether the disk is mounted read-only"
	case errors.Is(err, sqlite3.IOERR_WRITE):
		// Some systems' word for a full disk ends up here.
		return "the disk is full, or failing; make room or check the disk and the system's log, the ledger goes on by itself"
	case errors.Is(err, sqlite3.IOERR):
		return "the disk reported an error; check the disk and the system's log"
	case errors.Is(err, sqlite3.NOMEM):
		return "out of memory; try again"
	case errors.Is(err, sqlite3.INTERRUPT):
		return "interrupted; try again"
	}
	return "the file could not be used"
}
