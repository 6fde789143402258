// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"errors"
	"fmt"
)

// Errors of a Store and of the Runtime's operator verbs. Match with
// errors.Is.
var (
	// ErrUnavailable: the ledger could not be reached or could not make a
	// write durable. Nothing was written.
	ErrUnavailable = errors.New("ledger unavailable")
	// ErrCommitUnknown: the acknowledgement of a commit was lost. The write
	// may be there; re-read by attempt nonce.
	ErrCommitUnknown = errors.New("ledger commit not acknowledged")
	// ErrVersion: another transaction changed the operation first.
	ErrVersion = errors.New("operation changed meanwhile")
	// ErrKeyTaken: a key of the change already names another operation.
	ErrKeyTaken = errors.New("key already names an operation")
	// ErrConsentSpent: a consent of the change was spent for another operation.
	ErrConsentSpent = errors.New("consent already spent")
	// ErrNotFound: no such operation, or not the caller's to see.
	ErrNotFound = errors.New("no such operation")
	// ErrForbidden: the principal lacks a right.
	ErrForbidden = errors.New("not permitted")
	// ErrClosed: the Runtime or Store has been closed, for good: nobody tries
	// again.
	ErrClosed = errors.New("closed")
	// ErrLedgerVersion: the ledger was written by a newer version.
	ErrLedgerVersion = errors.New("ledger is of a newer version")
	// ErrDamaged: a record contradicts itself. Nothing is sent on its word.
	ErrDamaged = errors.New("the record is damaged")
)

// ErrArguments: the arguments cannot be those of the tool.
var ErrArguments = errors.New("the arguments are refused")

// ErrUnchecked: nobody could tell whether the arguments fit the tool's schema.
var ErrUnchecked = errors.New("the arguments could not be checked")

// DamagedError says that the recorded arguments of an operation are not those
// that were frozen. It unwraps to ErrDamaged. What takes no arguments is still
// allowed: to deny, to resolve and to cancel it.
type DamagedError struct {
	// Operation is the record without its arguments and its result.
	Operation *Operation
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s: %v: its recorded arguments are not those that were frozen as %s", e.Operation.ID, ErrDamaged, e.Operation.PayloadDigest)
}

func (e *DamagedError) Unwrap() error { return ErrDamaged }

// RefusedError says that a transition is not allowed where an operation
// stands. Nothing was written.
type RefusedError struct {
	Operation *Operation
	Event     EventName
	// Hint says what would be allowed.
	Hint string
}

func (e *RefusedError) Error() string {
	text := fmt.Sprintf("%s: %s is refused while the operation is %s", e.Operation.ID, e.Event.asked(), e.Operation.Status)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// asked names the event by what was asked for, for those that people ask for.
func (e EventName) asked() string {
	switch e {
	case EventBegun:
		return "running"
	case EventApproved:
		return "approving"
	case EventApprovalDenied:
		return "denying"
	case EventSuperseded:
		return "editing"
	case EventCancelRequested:
		return "cancelling"
	case EventResolvedCommitted:
		return "resolving as committed"
	case EventResolvedNot:
		return "resolving as not applied"
	case EventResolvedAbandoned:
		return "abandoning"
	case EventReopened:
		return "reopening"
	case EventUndetermined:
		return "looking up"
	}
	return string(e)
}
