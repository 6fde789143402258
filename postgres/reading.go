// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
)

// request is one scope on its way to a view.
type request struct {
	scope deed.Scope
	view  deed.View
	// seen are the operations of the view, as they are stored.
	seen map[deed.OperationID]*stored
	// named is what an id or the keys found, by the rank of the key.
	named   []named
	refused []refusal
	sums    []ranked
}

// named is one generation of one key, or what an id named.
type named struct {
	*stored
	rank       int
	generation int
	provenance deed.Provenance
	later      bool
}

// refusal is a conflict with its place in the order of events.
type refusal struct {
	deed.Refusal
	placed, writer int64
	place          int32
}

// reading reads the scopes of several requests of one tenant at once.
type reading struct {
	tenant deed.Tenant
	// at is the instant of a clock that is not the database's, nil for none.
	at       *time.Time
	requests []*request
	lanes    []lane
	rules    []toolRules
}

// lane is one fingerprint or one matter whose twins a request asks for.
type lane struct {
	request  *request
	standing []*stored
}

// toolRules is what sqlRules says of a tool.
type toolRules struct {
	tool   string
	rules  *string
	active []byte
}

func newRequest(scope deed.Scope) *request {
	return &request{scope: scope, seen: map[deed.OperationID]*stored{}}
}

// steps are the statements that read, in one snapshot or under the locks of
// their rows.
func (r *reading) steps(lock bool) []step {
	tenant := indexedText(string(r.tenant))
	var steps []step
	add := func(sql string, rows int, read func(pgx.Rows) error, args ...any) {
		if rows > 0 {
			steps = append(steps, step{sql: sql, args: append([]any{tenant}, args...), rows: rows, read: read})
		}
	}
	suffix := forShow
	if lock {
		suffix = forUpdate
	}
	var ids idArrays
	var lineage idArrays
	var keys keyArrays
	for n, request := range r.requests {
		switch scope := &request.scope; {
		case scope.ID != "":
			ids.add(n, scope)
			if scope.Lineage {
				lineage.add(n, scope)
			}
		default:
			for rank, key := range scope.Keys {
				keys.add(n, rank, key, scope)
			}
		}
	}
	add(sqlByID+suffix, len(ids.n), r.readByID, ids.n, ids.id, ids.later)
	add(sqlLineage, len(lineage.n), r.readLineage, lineage.n, lineage.id)
	add(sqlByKey+suffix, len(keys.n), r.readByKey, keys.n, keys.rank, keys.text, keys.family, keys.actor, keys.generation, keys.lineage, keys.later)

	r.money(add)

	var fingerprints, matters laneArrays
	var tools, settings []string
	for _, request := range r.requests {
		scope := &request.scope
		if scope.Tool == "" {
			continue
		}
		tool := indexedText(string(scope.Tool))
		if !slices.Contains(tools, tool) {
			tools, settings = append(tools, tool), append(settings, indexedText(deed.ActiveSetting(scope.Tool)))
		}
		for _, fingerprint := range scope.Fingerprints {
			fingerprints.add(len(r.lanes), tool, string(fingerprint))
			r.lanes = append(r.lanes, lane{request: request})
		}
		for _, matter := range scope.Matters {
			if matter != "" {
				matters.add(len(r.lanes), tool, string(matter))
				r.lanes = append(r.lanes, lane{request: request})
			}
		}
	}
	add(sqlTwins, max(len(fingerprints.n), len(matters.n)), r.readTwin, fingerprints.n, fingerprints.tool, fingerprints.equal, matters.n, matters.tool, matters.equal)
	add(sqlRefused, len(fingerprints.n), r.readRefused, fingerprints.n, fingerprints.tool, fingerprints.equal)
	add(sqlRules, len(tools), r.readRules, tools, settings)
	return steps
}

func (r *reading) readByID(rows pgx.Rows) error {
	var n int
	var later bool
	var at row
	_, err := at.scan(rows, []any{&n, &later}, at.whole())
	if err != nil {
		return err
	}
	r.requests[n].named = append(r.requests[n].named, named{stored: &at.stored, later: later})
	return nil
}

func (r *reading) readByKey(rows pgx.Rows) error {
	var n int
	var found named
	var at row
	_, err := at.scan(rows, []any{&n, &found.later, &found.rank, &found.generation, &found.provenance}, at.whole())
	if err != nil {
		return err
	}
	found.stored = &at.stored
	r.requests[n].named = append(r.requests[n].named, found)
	return nil
}

func (r *reading) readLineage(rows pgx.Rows) error {
	var n int
	older := named{rank: 1}
	var at row
	_, err := at.scan(rows, []any{&n, &older.generation, &older.provenance}, at.whole())
	if err != nil {
		return err
	}
	older.stored = &at.stored
	r.requests[n].named = append(r.requests[n].named, older)
	return nil
}

func (r *reading) readTwin(rows pgx.Rows) error {
	var n int
	var standing int16
	var byMatter int
	var at row
	columns := append([]any{&n}, at.light()...)
	if err := rows.Scan(append(columns, &standing, &byMatter)...); err != nil {
		return err
	}
	twin, err := at.open()
	if err == nil {
		r.lanes[n].standing = append(r.lanes[n].standing, twin)
	}
	return err
}

func (r *reading) readRefused(rows pgx.Rows) error {
	var n int
	var at row
	var by refusal
	var when int64
	_, err := at.scan(rows, []any{&n, &by.placed, &by.writer, &by.place, &when}, at.light())
	if err != nil {
		return err
	}
	request := r.lanes[n].request
	by.Operation, by.At = at.Operation, fromMicros(when)
	request.refused = append(request.refused, by)
	request.see(&at.stored)
	return nil
}

func (r *reading) readRules(rows pgx.Rows) error {
	var next toolRules
	if err := rows.Scan(&next.tool, &next.rules, &next.active); err != nil {
		return err
	}
	r.rules = append(r.rules, next)
	return nil
}

// see notes an operation of the view; what was read whole goes before what
// was read without bytes.
func (q *request) see(at *stored) {
	if _, known := q.seen[at.ID]; !known {
		q.seen[at.ID] = at
	}
}

// finish puts the views together.
func (r *reading) finish() {
	for _, request := range r.requests {
		request.name()
		request.addUp()
	}
	for i := range r.lanes {
		r.lanes[i].take()
	}
	for _, request := range r.requests {
		view := &request.view
		slices.SortFunc(view.Twins, func(a, b *deed.Operation) int { return cmp.Compare(b.ID, a.ID) })
		slices.SortFunc(request.refused, func(a, b refusal) int {
			return cmp.Or(cmp.Compare(b.placed, a.placed), cmp.Compare(b.writer, a.writer), cmp.Compare(b.place, a.place))
		})
		for _, by := range request.refused {
			if !slices.ContainsFunc(view.Refused, func(r deed.Refusal) bool { return r.Operation.ID == by.Operation.ID }) {
				view.Refused = append(view.Refused, by.Refusal)
			}
		}
		tool := indexedText(string(request.scope.Tool))
		for _, of := range r.rules {
			switch {
			case request.scope.Tool == "" || of.tool != tool:
			case of.rules == nil:
				view.Active = deed.Digest(of.active)
			case givenText(*of.rules) != string(request.scope.FingerprintRules):
				view.OtherRules = append(view.OtherRules, deed.Digest(givenText(*of.rules)))
			}
		}
	}
}

// name finds which of what was read is the operation, and which its lineage.
func (q *request) name() {
	slices.SortFunc(q.named, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.generation, a.generation))
	})
	if q.scope.ID != "" {
		if len(q.named) > 0 && q.named[0].rank == 0 {
			q.is(q.named[0])
			for _, older := range q.named[1:] {
				q.hasOlder(older)
			}
		}
		return
	}
	for rank, key := range q.scope.Keys {
		for i, at := range q.named {
			if at.rank != rank || key.Generation != 0 && at.generation != key.Generation {
				continue
			}
			q.is(at)
			key.Generation, key.Provenance = at.generation, at.provenance
			q.view.Found = key
			if !q.scope.Lineage {
				return
			}
			for _, older := range q.named[i+1:] {
				if older.rank == rank {
					q.hasOlder(older)
				}
			}
			return
		}
	}
}

func (q *request) is(at named) {
	q.view.Operation, q.view.Later = at.Operation, at.later
	q.see(at.stored)
}

func (q *request) hasOlder(at named) {
	q.view.Lineage = append(q.view.Lineage, at.Operation)
	q.seen[at.ID] = at.stored
}

// take puts the lane's twins into the view: all of the open ones, and the
// newest of each other standing.
func (l *lane) take() {
	q := l.request
	slices.SortFunc(l.standing, func(a, b *stored) int { return cmp.Compare(b.ID, a.ID) })
	taken := map[int16]bool{}
	for _, at := range l.standing {
		if q.view.Operation != nil && at.ID == q.view.Operation.ID {
			continue
		}
		standing := standingOf(at.Operation)
		if standing != 0 && taken[standing] {
			continue
		}
		taken[standing] = true
		if slices.ContainsFunc(q.view.Twins, func(op *deed.Operation) bool { return op.ID == at.ID }) {
			continue
		}
		q.see(at)
		q.view.Twins = append(q.view.Twins, at.Operation)
	}
}
