// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/deed-run/deed"
)

// OpenError says why a ledger cannot be opened and what to do about it. It
// matches deed.ErrUnavailable, and deed.ErrLedgerVersion where that is the
// reason.
type OpenError struct {
	// Database is where the ledger is, without secrets.
	Database string
	// Problem is what is in the way, Remedy what to do.
	Problem string
	Remedy  string
	Err     error
}

func (e *OpenError) Error() string {
	text := fmt.Sprintf("ledger %s: %s; nothing was changed; %s", e.Database, e.Problem, e.Remedy)
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

// refusedError is the fault of what was to be written, not of the database.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// raced reports whether the change may have lost a race that a fresh view
// shows.
func (e *refusedError) raced() bool {
	return errors.Is(e.err, deed.ErrVersion) || errors.Is(e.err, deed.ErrKeyTaken) || errors.Is(e.err, deed.ErrConsentSpent)
}

// lostError: a COMMIT was sent and not acknowledged, or with a warning.
type lostError struct{ err error }

func (e *lostError) Error() string {
	return "the commit was sent and not acknowledged: " + e.err.Error()
}
func (e *lostError) Unwrap() error { return e.err }

var errWarned = errors.New("the database warned that the commit may not be on all the disks that it has to be on")

// Codes of PostgreSQL (appendix A of its manual).
const (
	codeGuard             = "22012" // division_by_zero, which the guards use
	codeSerialization     = "40001"
	codeDeadlock          = "40P01"
	codeReadOnly          = "25006"
	codeLockNotAvailable  = "55P03"
	codeUndefinedTable    = "42P01"
	codeUndefinedSchema   = "3F000"
	codeNoPrivilege       = "42501"
	codeIdleInTransaction = "25P03"
	codeQueryCanceled     = "57014"
	codeIdleSession       = "57P05"
)

func databaseError(err error) *pgconn.PgError {
	var of *pgconn.PgError
	if errors.As(err, &of) {
		return of
	}
	return nil
}

// notCommitted reports whether a failed round trip with a COMMIT in it
// certainly left nothing behind: the server refused a statement and lives.
func notCommitted(err error) bool {
	of := databaseError(err)
	return of != nil && of.SeverityUnlocalized == "ERROR"
}

// passing reports whether the same transaction may succeed in a moment. A
// transaction that fails before its COMMIT is sent has left nothing behind.
func passing(err error) bool {
	if errors.As(err, new(*lostError)) {
		return true
	}
	of := databaseError(err)
	if of == nil {
		// A connection that broke, unless it could not be made at all.
		return !errors.As(err, new(*pgconn.ConnectError)) && !errors.Is(err, deed.ErrLedgerVersion)
	}
	switch of.Code {
	case codeSerialization, codeDeadlock, codeIdleInTransaction, "57P01", "57P02":
		return true
	}
	return false
}

// severed reports whether the connection is gone, and not the statement refused.
func severed(err error) bool {
	of := databaseError(err)
	return of == nil || of.Code == "57P01" || of.Code == "57P02"
}

// sorted tells what the jobs are to blame for from what the database is.
func sorted(err error) error {
	if err == nil {
		return nil
	}
	var at *stepError
	of := databaseError(err)
	if of == nil || !errors.As(err, &at) {
		return err
	}
	switch {
	case of.Code == codeGuard && at.sql == sqlBindKeys:
		return &refusedError{fmt.Errorf("a key of the change is taken: %w; nothing was written", deed.ErrKeyTaken)}
	case of.Code == codeGuard && at.sql == sqlSpendConsents:
		return &refusedError{fmt.Errorf("a consent of the change was spent for another operation: %w; nothing was written", deed.ErrConsentSpent)}
	case of.Code == codeGuard && at.sql == sqlInsertOperations:
		return &refusedError{fmt.Errorf("an operation of the change is stored and was not read: %w; nothing was written", deed.ErrVersion)}
	case of.Code == codeGuard:
		return &refusedError{fmt.Errorf("an operation of the change has moved: %w; nothing was written", deed.ErrVersion)}
	case of.Code == codeSerialization, of.Code == codeDeadlock:
		return err
	}
	switch class := of.Code[:2]; class {
	case "21", "22", "23", "54":
		return &refusedError{fmt.Errorf("the database refused the change and nothing of it was written: %w", err)}
	}
	return err
}

// explain turns an error of the database into one that a caller of the Store
// can act upon.
func (l *Ledger) explain(doing string, err error) error {
	var refused *refusedError
	switch {
	case err == nil, errors.As(err, new(changeError)), errors.Is(err, deed.ErrUnavailable), errors.Is(err, deed.ErrClosed):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded) && databaseError(err) == nil && doing == doingRead:
		return err
	case errors.As(err, &refused):
		return refused.err
	case errors.Is(err, deed.ErrCommitUnknown):
		return fmt.Errorf("ledger %s: %w", l.database, err)
	case errors.Is(err, deed.ErrVersion), errors.Is(err, deed.ErrKeyTaken), errors.Is(err, deed.ErrNotFound), errors.Is(err, deed.ErrLedgerVersion):
		return err
	}
	return fmt.Errorf("%s the ledger %s: %w: %s; nothing was written: %w", doing, l.database, deed.ErrUnavailable, remedy(err), err)
}

const (
	doingRead  = "reading"
	doingWrite = "writing"
)

// remedy says what is wrong and what to do, in words.
func remedy(err error) string {
	of := databaseError(err)
	var network net.Error
	switch {
	case of == nil && errors.As(err, new(*pgconn.ConnectError)):
		return "the database cannot be reached; check that it runs and that address, user and password are right"
	case of == nil && errors.As(err, &network):
		return "the connection to the database broke; try again"
	case of == nil:
		return "the database did not answer; try again"
	}
	switch of.Code {
	case codeReadOnly:
		return "the database is read-only: a standby, or set so; name the primary, or add target_session_attrs=read-write and all hosts"
	case codeLockNotAvailable:
		return "another process has held its locks for too long; try again, and look for a process that is stopped while it writes"
	case codeUndefinedTable, codeUndefinedSchema:
		return "the tables of the ledger are gone; restore them"
	case codeQueryCanceled:
		return "the database ended a statement, which statement_timeout or a person may have wanted; try again, and raise statement_timeout for the ledger's user if it is set"
	case codeIdleSession, codeIdleInTransaction:
		return "the database ended a connection that was idle; try again, and raise idle_session_timeout and idle_in_transaction_session_timeout for the ledger's user if they are set"
	case codeNoPrivilege:
		return "the database user may not use the tables of the ledger; grant it SELECT, INSERT, UPDATE on them"
	}
	switch {
	case strings.HasPrefix(of.Code, "28"):
		return "the database does not let this user in; check user and password"
	case strings.HasPrefix(of.Code, "3D"):
		return "there is no such database; create it"
	case of.Code == "53100":
		return "the disk of the database is full; make room, the ledger goes on by itself"
	case strings.HasPrefix(of.Code, "53"):
		return "the database has no room for more; lower Writers and Readers, or raise its max_connections"
	case strings.HasPrefix(of.Code, "57"):
		return "the database is stopping or starting; try again"
	case strings.HasPrefix(of.Code, "58"), strings.HasPrefix(of.Code, "XX"):
		return "the database reported a fault of its disk or of itself; look at its log"
	}
	return "the database refused; look at its log"
}

func closedError() error { return fmt.Errorf("the ledger is %w", deed.ErrClosed) }

// versionError refuses a write on a ledger of another version.
func versionError(version int64) error {
	return fmt.Errorf("%w (%d, and this program writes %d); nothing was written; use the newer version of this program", deed.ErrLedgerVersion, version, newestVersion)
}
