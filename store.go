// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"time"
)

// Store is the ledger. Implementations are safe for concurrent use.
//
// The only write of an operation is load, pure function, write, all inside
// one transaction of the driver; two transactions whose scopes share an
// operation, a key, a fingerprint or a matter never interleave. A Store that
// cannot be reached or cannot make a write durable returns an error that
// matches ErrUnavailable and has written nothing, except where it says that
// the outcome of a commit is not known (ErrCommitUnknown). One that has been
// closed returns an error that matches ErrClosed, and never serves again; close
// it after the Runtime.
type Store interface {
	// Transact loads the scope under its locks, calls change, and writes what
	// it returns durably before returning. change is pure and may be called
	// again on a fresh view when the transaction has to be repeated; an error
	// from it is returned as it is and nothing is written. The View returned
	// has the state before the write.
	Transact(ctx context.Context, scope Scope, change func(View) (Change, error)) (View, error)

	// Load reads the scope without locks, from a consistent snapshot that
	// includes every transaction acknowledged before the call.
	Load(ctx context.Context, scope Scope) (View, error)

	// List returns operations without arguments and results, newest first.
	List(ctx context.Context, query Query) (Page, error)

	// Events returns events in the order in which they were written.
	Events(ctx context.Context, query EventQuery) ([]Event, error)

	// Append adds events that change no status. With Batched it returns at
	// once and the events become durable with a later commit, in order and
	// before any Transact that is called afterwards; with Durable it waits.
	// An event named Delivered also marks its operation delivered.
	Append(ctx context.Context, events []Event, durability Durability) error

	// Watch returns the operation's version once it is greater than version,
	// or ctx's error. Writes of other processes are noticed too.
	Watch(ctx context.Context, tenant Tenant, id OperationID, version int64) (int64, error)

	// Trim removes arguments and results of at most limit settled operations
	// whose RetainUntil is before now, and returns how many. Rows, receipts
	// and events stay; unresolved operations are never touched.
	Trim(ctx context.Context, now time.Time, limit int) (int, error)

	// Setting reads the named value and, when update is not nil, replaces it
	// by what update returns, in one transaction. Returning nil leaves the
	// old value. It yields the value after the call, nil if there is none.
	Setting(ctx context.Context, name string, update func(old []byte) []byte) ([]byte, error)
}

// Scope says what a transaction loads and locks.
type Scope struct {
	Tenant Tenant
	// ID names the operation directly; otherwise Keys do, in order of
	// precedence: the first that is known names it. A derived key (its
	// Generation is 0 here) finds the newest generation.
	ID   OperationID
	Keys []Key
	// Lineage asks for the older generations of a derived key.
	Lineage bool

	// Tool with Fingerprints and Matters asks for twins, and locks them:
	// fingerprints first, then matters. Empty lists ask for none.
	Tool         Tool
	Fingerprints []Fingerprint
	Matters      []Matter
	// Budgets asks what budgets have given out; shares that are named are locked
	// after fingerprints and matters.
	Budgets []BudgetQuery
	// Consent asks for which operation the consent of this id was spent, and
	// locks it, last; empty asks for none.
	Consent string
	// FingerprintRules is the hash of the caller's current rules; the view
	// names the others that unresolved operations of the tool carry.
	FingerprintRules Digest
	// Later asks whether another operation of the same tool and matter has
	// begun an attempt since the named operation's latest one; operations
	// without a matter are compared with each other.
	Later bool
}

// View is what a transaction saw.
type View struct {
	// Now is the ledger's clock at the start of the transaction: one instant.
	Now time.Time
	// Operation is what ID or Keys named, whole; nil if there is none.
	Operation *Operation
	// Found is the key that named it, as stored.
	Found Key
	// Lineage holds the older generations, newest first, whole.
	Lineage []*Operation
	// Twins are other operations of the tool with one of the fingerprints or
	// matters, without arguments and results: all unresolved, pending and
	// undelivered ones, and of the rest the newest of each status.
	Twins []*Operation
	// Refused lists conflicts by which one of the fingerprints was refused,
	// newest first, with the operation that refused it.
	Refused []Refusal
	// OtherRules are hashes of fingerprint rules, other than the scope's,
	// that unresolved operations of the tool carry.
	OtherRules []Digest
	// Active is the hash of the rules last loaded for the tool, empty if
	// none were recorded.
	Active Digest
	// Later reports what the scope asked for.
	Later bool
	// Budgets answers the scope's, in its order; of those that ask for every
	// share the shares follow each other by name.
	Budgets []BudgetSum
	// ConsentBy is the operation that the scope's consent was spent for, empty
	// if for none.
	ConsentBy OperationID
}

// Refusal is a conflict decision: an operation refused a fingerprint.
type Refusal struct {
	Operation *Operation
	At        time.Time
}

// Change is what a transaction writes.
type Change struct {
	// Put are operations in their new state, each taken from the view and
	// moved on, or new. The driver inserts what it does not have, binding its
	// Key, and overwrites the rest only if the stored version is the view's
	// (ErrVersion otherwise). Arguments are written on insert and whenever
	// PayloadDigest differs from the stored one, Result whenever ResultDigest
	// does, Receipts beyond those stored are added. The Bookings of attempts
	// are kept as rows by which View.Budgets adds up, and the ids of
	// Approval.ConsentIDs are bound to the operation for ever (ErrConsentSpent
	// when one is another's).
	Put []*Operation
	// Bind adds keys as aliases of operations.
	Bind []Binding
	// Events are appended in order.
	Events []Event
}

// Binding makes a key name an operation.
type Binding struct {
	Key       Key
	Operation OperationID
}

// Durability says when an append is durable.
type Durability int

const (
	// Batched events become durable with a later commit.
	Batched Durability = iota
	// Durable events are on disk when Append returns.
	Durable
)

// Query selects operations.
type Query struct {
	// Tenant is empty only in recovery, which looks after all of them.
	Tenant   Tenant
	Statuses []Status
	// Effective makes Statuses match effective statuses at this moment.
	Effective   time.Time
	Tool        Tool
	Actor       Actor
	Key         string
	Fingerprint Fingerprint
	Matter      Matter
	Meta        map[string]string
	// Lapsed selects operations whose lease, question, approval, max_age or
	// deadline has passed at this moment and is not yet written.
	Lapsed time.Time
	// Reason selects by the status reason.
	Reason Reason
	// Flagged selects operations that are Diverged or Contradicted. One that is
	// executing is selected when its attempt has ended.
	Flagged bool
	// Before is the id after which a further page begins.
	Before OperationID
	// Limit is at most 1000; 0 means 50.
	Limit int
}

// Page is one page of a listing.
type Page struct {
	Operations []*Operation
	// Next is the Before of the next page, empty on the last one.
	Next OperationID
}

// EventQuery selects events.
type EventQuery struct {
	Tenant    Tenant
	Operation OperationID
	Name      EventName
	// After is the id after which the listing goes on.
	After EventID
	Limit int
}
