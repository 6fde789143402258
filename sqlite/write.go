// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/deed-run/deed"
)

// write applies a change within the transaction in which its view was read.
func (l *loader) write(wanted deed.Change) error {
	for _, op := range wanted.Put {
		if err := l.put(op); err != nil {
			return err
		}
	}
	for _, alias := range wanted.Bind {
		seq, err := l.seqOf(alias.Operation)
		if err != nil {
			return err
		}
		if err := l.bind(alias.Key, seq, alias.Operation); err != nil {
			return err
		}
	}
	return appendEvents(l.connection, wanted.Events)
}

// put inserts or overwrites one operation.
func (l *loader) put(op *deed.Operation) error {
	if op.Tenant != l.scope.Tenant {
		return fmt.Errorf("operation %s is of tenant %q, the transaction of %q; nothing was written", op.ID, op.Tenant, l.scope.Tenant)
	}
	at, known := l.place(op.ID)
	if !known {
		return l.insert(op)
	}
	if op.Version < at.Version {
		return fmt.Errorf("operation %s is at version %d: %w; nothing was written", op.ID, at.Version, deed.ErrVersion)
	}
	return l.update(at, op)
}

func (l *loader) insert(op *deed.Operation) error {
	s := l.use(stmtInsertOperation)
	bindIdentity(s, op)
	bindContent(s, op)
	bindState(s, op, len(op.Receipts), op.Arguments != nil || op.Result != nil)
	s.integer(standingOf(op))
	if err := s.run(); errors.Is(err, sqlite3.CONSTRAINT_UNIQUE) {
		return fmt.Errorf("operation %s is stored and was not read: %w; nothing was written", op.ID, deed.ErrVersion)
	} else if err != nil {
		return err
	}
	seq := l.LastInsertRowID()
	if err := l.bind(op.Key, seq, op.ID); err != nil {
		return err
	}
	if op.Arguments != nil {
		if err := l.putBytes(stmtPutArguments, seq, op.Arguments); err != nil {
			return err
		}
	}
	if op.Result != nil {
		if err := l.putBytes(stmtPutResult, seq, op.Result); err != nil {
			return err
		}
	}
	if err := l.addReceipts(seq, op, 0); err != nil {
		return err
	}
	if err := l.putMoney(seq, nil, op); err != nil {
		return err
	}
	l.seen = append(l.seen, stored{Operation: op, seq: seq, standing: standingOf(op), whole: true})
	return nil
}

func (l *loader) update(at stored, op *deed.Operation) error {
	receipts := max(len(at.Receipts), len(op.Receipts))
	payload, err := l.putPayload(at, op)
	if err != nil {
		return err
	}
	standing := standingOf(op)
	same := standing == at.standing && sameContent(at.Operation, op)
	switch {
	case same && sameBeyondOutcome(at.Operation, op):
		s := l.use(stmtUpdateOutcome)
		bindOutcome(s, op, receipts, payload)
		s.integer(at.seq)
		s.integer(at.Version)
		err = s.run()
	case same:
		s := l.use(stmtUpdateState)
		bindState(s, op, receipts, payload)
		s.integer(at.seq)
		s.integer(at.Version)
		err = s.run()
	default:
		s := l.use(stmtUpdateWhole)
		bindContent(s, op)
		bindState(s, op, receipts, payload)
		s.integer(standing)
		s.integer(at.seq)
		s.integer(at.Version)
		err = s.run()
	}
	if err != nil {
		return err
	}
	if l.Changes() == 0 {
		return fmt.Errorf("operation %s is no longer at version %d: %w; nothing was written", op.ID, at.Version, deed.ErrVersion)
	}
	if err := l.addReceipts(at.seq, op, len(at.Receipts)); err != nil {
		return err
	}
	if err := l.putMoney(at.seq, at.Operation, op); err != nil {
		return err
	}
	l.moved(at, op, standing)
	return nil
}

// moved notes what the ledger has now, for a change that puts an operation
// more than once.
func (l *loader) moved(at stored, op *deed.Operation, standing int64) {
	next := *op
	next.Receipts = append(at.Receipts[:len(at.Receipts):len(at.Receipts)], op.Receipts[min(len(at.Receipts), len(op.Receipts)):]...)
	if op.PayloadDigest == at.PayloadDigest {
		next.Arguments = at.Arguments
	}
	if op.ResultDigest == at.ResultDigest {
		next.Result = at.Result
	}
	for i := range l.seen {
		if l.seen[i].Operation != nil && l.seen[i].ID == op.ID {
			l.seen[i] = stored{Operation: &next, seq: at.seq, standing: standing, whole: at.whole}
		}
	}
}

// putPayload writes arguments and result where their digests say that they
// are others than the stored ones, and reports whether the ledger has any.
func (l *loader) putPayload(at stored, op *deed.Operation) (bool, error) {
	newArguments, newResult := op.PayloadDigest != at.PayloadDigest, op.ResultDigest != at.ResultDigest
	if newArguments {
		if err := l.replaceBytes(stmtPutArguments, stmtDeleteArguments, at.seq, op.Arguments); err != nil {
			return false, err
		}
	}
	if newResult {
		if err := l.replaceBytes(stmtPutResult, stmtDeleteResult, at.seq, op.Result); err != nil {
			return false, err
		}
	}
	if !trimmable(op) {
		return false, nil
	}
	if !at.whole {
		return l.hasPayload(at.seq)
	}
	arguments, result := at.Arguments, at.Result
	if newArguments {
		arguments = op.Arguments
	}
	if newResult {
		result = op.Result
	}
	return arguments != nil || result != nil, nil
}

func (l *loader) hasPayload(seq int64) (bool, error) {
	s := l.use(stmtHasPayload)
	s.integer(seq)
	s.integer(seq)
	there := s.next()
	return there, s.end()
}

func (l *loader) replaceBytes(put, remove statementID, seq int64, bytes []byte) error {
	if bytes != nil {
		return l.putBytes(put, seq, bytes)
	}
	s := l.use(remove)
	s.integer(seq)
	return s.run()
}

func (l *loader) putBytes(id statementID, seq int64, bytes []byte) error {
	s := l.use(id)
	s.integer(seq)
	s.blob(bytes)
	return s.run()
}

// addReceipts stores those beyond the known ones.
func (l *loader) addReceipts(seq int64, op *deed.Operation, known int) error {
	for i := known; i < len(op.Receipts); i++ {
		s := l.use(stmtInsertReceipt)
		bindReceipt(s, seq, i+1, &op.Receipts[i])
		if err := s.run(); err != nil {
			return err
		}
	}
	return nil
}

// bind makes a key name an operation. A key that names it already stays as it
// is.
func (l *loader) bind(key deed.Key, seq int64, id deed.OperationID) error {
	s := l.use(stmtInsertKey)
	bindKey(s, l.scope.Tenant, key)
	s.integer(int64(key.Generation))
	s.text(string(key.Provenance))
	s.integer(seq)
	if err := s.run(); err != nil {
		return err
	}
	if l.Changes() > 0 {
		return nil
	}
	s = l.use(stmtKeyHolder)
	bindKey(s, l.scope.Tenant, key)
	s.integer(int64(key.Generation))
	var holder int64
	if s.next() {
		holder = s.readInteger()
	}
	if err := s.end(); err != nil {
		return err
	}
	if holder != seq {
		return fmt.Errorf("a key of %s is taken: %w; nothing was written", id, deed.ErrKeyTaken)
	}
	return nil
}

// seqOf returns the place of an operation that the view or the ledger has.
func (l *loader) seqOf(id deed.OperationID) (int64, error) {
	if at, known := l.place(id); known {
		return at.seq, nil
	}
	seq, there, err := l.lookUp(id)
	if err == nil && !there {
		err = fmt.Errorf("a key cannot name operation %s: %w; nothing was written", id, deed.ErrNotFound)
	}
	return seq, err
}

func (l *loader) lookUp(id deed.OperationID) (seq int64, there bool, err error) {
	s := l.use(stmtSeqByID)
	s.text(string(l.scope.Tenant))
	s.operationID(string(id))
	if there = s.next(); there {
		seq = s.readInteger()
	}
	return seq, there, s.end()
}

// appendEvents writes events in order and marks what was delivered.
func appendEvents(c *connection, events []deed.Event) error {
	for i := range events {
		event := &events[i]
		s := c.use(stmtInsertEvent)
		s.eventID(string(event.ID))
		s.text(string(event.Tenant))
		s.operationID(string(event.OperationID))
		s.integer(event.Version)
		s.moment(event.At)
		s.text(string(event.Name))
		s.text(string(event.Actor))
		s.integer(int64(event.Attempt))
		s.text(string(event.From))
		s.text(string(event.To))
		s.text(string(event.Reason))
		s.text(string(event.Tool))
		s.digest(string(event.Fingerprint))
		s.blob(event.Data)
		if err := s.run(); err != nil {
			return err
		}
		if event.Name != deed.Delivered {
			continue
		}
		s = c.use(stmtDeliver)
		s.moment(event.At)
		s.text(string(event.Tenant))
		s.operationID(string(event.OperationID))
		if err := s.run(); err != nil {
			return err
		}
	}
	return nil
}
