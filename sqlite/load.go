// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"time"

	"github.com/deed-run/deed"
)

// loader reads one scope within one transaction of its connection.
type loader struct {
	*connection
	scope deed.Scope
	view  deed.View
	// seen are the operations of the view, with their places.
	seen []stored
}

// load fills the view. Statements stay open until the connection is released,
// so that all of them read one snapshot.
func (l *loader) load(now time.Time) error {
	l.view.Now = fromMicros(micros(now))
	if fresh, err := l.fresh(); err != nil || fresh {
		return err
	}
	at, err := l.named()
	if err != nil {
		return err
	}
	if at.Operation != nil {
		l.view.Operation = at.Operation
		if err := l.related(at); err != nil {
			return err
		}
	}
	if err := l.money(); err != nil {
		return err
	}
	if l.scope.Tool == "" {
		return nil
	}
	if err := l.twins(); err != nil {
		return err
	}
	if err := l.refused(); err != nil {
		return err
	}
	if err := l.otherRules(); err != nil {
		return err
	}
	active, err := readSetting(l.connection, deed.ActiveSetting(l.scope.Tool))
	l.view.Active = deed.Digest(active)
	return err
}

// named reads the operation that the scope's id or one of its keys names.
func (l *loader) named() (stored, error) {
	if l.scope.ID != "" {
		if at, ok := l.remembered(); ok {
			l.seen = append(l.seen, at)
			return at, nil
		}
		s := l.use(stmtByID)
		l.hold(s)
		s.text(string(l.scope.Tenant))
		s.operationID(string(l.scope.ID))
		return l.whole(s)
	}
	for _, key := range l.scope.Keys {
		id := stmtByKey
		if key.Generation != 0 {
			id = stmtByKeyGeneration
		}
		s := l.use(id)
		l.hold(s)
		bindKey(s, l.scope.Tenant, key)
		if key.Generation != 0 {
			s.integer(int64(key.Generation))
		}
		if !s.next() {
			if err := s.end(); err != nil {
				return stored{}, err
			}
			continue
		}
		key.Generation = int(s.readInteger())
		key.Provenance = deed.Provenance(s.readText())
		l.view.Found = key
		return l.readWhole(s)
	}
	return stored{}, nil
}

// remembered returns the operation of the scope's id from memory, inside a
// writing transaction that has not touched it.
func (l *loader) remembered() (stored, bool) {
	if l.memory == nil {
		return stored{}, false
	}
	if _, touched := l.touched[watchedID{l.scope.Tenant, l.scope.ID}]; touched {
		return stored{}, false
	}
	return l.memory.open(l.scope.Tenant, l.scope.ID)
}

// written returns how the transaction left the operations that were put.
func (l *loader) written(put []*deed.Operation) []stored {
	list := make([]stored, 0, len(put))
	for _, op := range put {
		if at, known := l.place(op.ID); known {
			list = append(list, at)
		}
	}
	return list
}

// touch notes that memory is behind the transaction.
func (c *connection) touch(j *job) {
	if c.touched == nil {
		c.touched = map[watchedID]struct{}{}
	}
	for _, at := range j.after {
		c.touched[watchedID{at.Tenant, at.ID}] = struct{}{}
	}
	for _, id := range j.delivered {
		c.touched[id] = struct{}{}
	}
}

// deliveries lists the operations that the events mark delivered.
func deliveries(events []deed.Event) []watchedID {
	var list []watchedID
	for i := range events {
		if events[i].Name == deed.Delivered {
			list = append(list, watchedID{events[i].Tenant, events[i].OperationID})
		}
	}
	return list
}

func bindKey(s *statement, tenant deed.Tenant, key deed.Key) {
	s.text(string(tenant))
	s.text(key.Text)
	s.text(string(key.Family))
	s.text(string(key.Actor))
}

// whole reads the next row of a statement, none if there is no row.
func (l *loader) whole(s *statement) (stored, error) {
	if !s.next() {
		return stored{}, s.err
	}
	return l.readWhole(s)
}

func (l *loader) readWhole(s *statement) (stored, error) {
	at, err := readOperation(s, true)
	if err == nil {
		err = readReceipts(l.connection, at)
	}
	l.seen = append(l.seen, at)
	return at, err
}

// related reads what belongs to the named operation.
func (l *loader) related(at stored) error {
	key := l.view.Found
	if key.Text == "" {
		key = at.Key
	}
	if l.scope.Lineage && key.Generation > 1 {
		s := l.use(stmtLineage)
		l.hold(s)
		bindKey(s, l.scope.Tenant, key)
		s.integer(int64(key.Generation))
		for s.next() {
			older, err := l.readWhole(s)
			if err != nil {
				return err
			}
			l.view.Lineage = append(l.view.Lineage, older.Operation)
		}
		if s.err != nil {
			return s.err
		}
	}
	if current := at.Current(); l.scope.Later && current != nil {
		s := l.use(stmtLater)
		s.text(string(at.Tenant))
		s.text(string(at.Tool))
		s.text(string(at.Matter))
		s.moment(current.BegunAt)
		s.integer(at.seq)
		l.view.Later = s.next()
		return s.end()
	}
	return nil
}

// light reads the row of a statement on lightColumns into the view's
// operations.
func (l *loader) light(s *statement) (stored, error) {
	at, err := readOperation(s, false)
	if err == nil {
		err = readReceipts(l.connection, at)
	}
	l.seen = append(l.seen, at)
	return at, err
}

// place returns where an operation of the view is stored.
func (l *loader) place(id deed.OperationID) (stored, bool) {
	for _, at := range l.seen {
		if at.Operation != nil && at.ID == id {
			return at, true
		}
	}
	return stored{}, false
}
