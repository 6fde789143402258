// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
)

// batch is one transaction for several jobs of one tenant: a round trip that
// locks and loads, and one that writes and commits.
type batch struct {
	tenant   deed.Tenant
	writer   int64
	jobs     []*job
	patience time.Duration

	version int64
	now     time.Time
	// changing are the jobs with a change, in the order of read.requests.
	changing []*job
	read     reading
	appended eventArrays
	writing  *writing
	// found are the jobs whose lost commit turned out to be there.
	found    map[*job]bool
	deferred []*job
}

func newBatch(jobs []*job, writer int64, patience time.Duration) *batch {
	b := &batch{tenant: jobs[0].tenant, writer: writer, jobs: jobs, patience: patience, writing: newWriting(), found: map[*job]bool{}}
	b.read.tenant = b.tenant
	place := 0
	for _, j := range jobs {
		for i := range j.events {
			b.appended.add(place, &j.events[i])
			place++
		}
		if j.change != nil {
			b.changing = append(b.changing, j)
			b.read.requests = append(b.read.requests, newRequest(j.scope))
		}
	}
	return b
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }

// opening locks and loads.
func (b *batch) opening() []step {
	tenant := indexedText(string(b.tenant))
	steps := []step{
		{sql: sqlBegin},
		{sql: sqlSettings, args: []any{milliseconds(b.lockWait()), milliseconds(b.patience)}, read: b.readVersion},
	}
	var locks []int32
	for _, j := range b.changing {
		locks = append(locks, slots(&j.scope)...)
	}
	if len(locks) > 0 {
		slices.Sort(locks)
		steps = append(steps, step{sql: sqlLockSlots, args: []any{tenant, slices.Compact(locks)}})
	}
	if len(b.appended.deliveredID) > 0 || len(b.changing) > 1 {
		steps = append(steps, b.lockOperations(tenant))
	}
	steps = append(steps, b.appended.steps(tenant, b.writer)...)
	steps = append(steps, b.read.steps(true)...)
	if lost := b.lostEvents(tenant); len(lost.args) > 0 {
		steps = append(steps, lost)
	}
	if len(b.changing) > 0 {
		steps = append(steps, step{sql: sqlClock, read: b.readClock})
	}
	return steps
}

// lockWait is how long the transaction waits for others. Several jobs do not
// wait long for the one that somebody blocks: it is then tried by itself.
func (b *batch) lockWait() time.Duration {
	if len(b.jobs) > 1 {
		return b.patience / 5
	}
	return b.patience * 4 / 5
}

func (b *batch) lockOperations(tenant string) step {
	ids := slices.Clone(b.appended.deliveredID)
	var keys keyArrays
	for n, request := range b.read.requests {
		if request.scope.ID != "" {
			ids = append(ids, indexedText(string(request.scope.ID)))
			continue
		}
		for rank, key := range request.scope.Keys {
			keys.add(n, rank, key, &request.scope)
		}
	}
	return step{sql: sqlLockOperations, args: []any{tenant, ids, keys.text, keys.family, keys.actor}}
}

// lostEvents asks for the events of commits that were not acknowledged. An
// event is never changed or removed, so its id tells for ever whether the
// transaction that wrote it is there.
func (b *batch) lostEvents(tenant string) step {
	var n []int32
	var operations, ids []string
	for i, j := range b.changing {
		if j.lost != nil && len(j.lost.Events) > 0 {
			n = append(n, int32(i))
			operations = append(operations, indexedText(string(j.lost.Events[0].OperationID)))
			ids = append(ids, indexedText(string(j.lost.Events[0].ID)))
		}
	}
	if len(n) == 0 {
		return step{}
	}
	return step{sql: sqlWritten, args: []any{tenant, n, operations, ids}, read: func(rows pgx.Rows) error {
		var n int
		err := rows.Scan(&n)
		if err == nil {
			b.found[b.changing[n]] = true
		}
		return err
	}}
}

func (b *batch) readVersion(rows pgx.Rows) error {
	values := rows.RawValues()
	return rows.Scan(append([]any{&b.version}, make([]any, len(values)-1)...)...)
}

func (b *batch) readClock(rows pgx.Rows) error {
	var us, version, oldest int64
	err := rows.Scan(&us, &version, &oldest)
	b.now = fromMicros(us)
	return err
}

// decide runs the changes on what was loaded. A job that shares an operation
// with another one of the batch is deferred, for it has to see what that one
// writes.
func (b *batch) decide() {
	b.read.finish()
	named := map[deed.OperationID]bool{}
	for i, j := range b.changing {
		q := b.read.requests[i]
		q.view.Now = b.now
		if b.isThere(j, q) {
			j.err, j.put = nil, j.lost.Put
			b.found[j] = true
			continue
		}
		if op := q.view.Operation; op != nil {
			if named[op.ID] {
				b.deferred = append(b.deferred, j)
				continue
			}
			named[op.ID] = true
		}
		wanted, err := j.decide(q.view)
		if err != nil {
			j.err = err
			continue
		}
		if b.writing.overlaps(wanted) {
			b.deferred = append(b.deferred, j)
			continue
		}
		if err := b.writing.add(q, wanted); err != nil {
			j.err = err
			continue
		}
		j.put, j.wanted = wanted.Put, wanted
	}
}

// isThere reports whether a commit that was not acknowledged has been found:
// by its event, or, when it wrote none, by the nonce of the attempt that it
// began.
func (b *batch) isThere(j *job, q *request) bool {
	if j.lost == nil || b.found[j] {
		return j.lost != nil
	}
	op := q.view.Operation
	if len(j.lost.Events) > 0 || len(j.lost.Put) == 0 || op == nil || op.ID != j.lost.Put[0].ID || j.view.Operation != nil {
		return false
	}
	mine, there := j.lost.Put[0].Current(), op.Current()
	return mine != nil && there != nil && mine.Nonce != "" && mine.Nonce == there.Nonce && j.lost.Put[0].Version <= op.Version
}

// closing writes and commits. It is empty when there is nothing to write.
func (b *batch) closing() ([]step, error) {
	tenant := indexedText(string(b.tenant))
	steps, err := b.writing.steps(tenant, b.writer, len(b.appended.id))
	if err != nil {
		return nil, err
	}
	if len(b.found) > 0 {
		// The commit that was found is on every disk that it has to be on once a
		// later one has been acknowledged.
		steps = append(steps, step{sql: `INSERT INTO deed_locks (tenant, slot) VALUES ($1, -1)
			ON CONFLICT (tenant, slot) DO UPDATE SET slot = excluded.slot`, args: []any{tenant}})
	}
	if len(steps) == 0 && len(b.appended.id) == 0 {
		return nil, nil
	}
	return append(steps, step{sql: `commit`, want: "COMMIT"}), nil
}

// strangers makes sure that operations exist which keys are bound to unseen.
func (b *batch) strangers(l *link) error {
	for i, j := range b.changing {
		if j.err != nil || b.found[j] || slices.Contains(b.deferred, j) {
			continue
		}
		ids := strangers(b.read.requests[i], j.wanted)
		if len(ids) == 0 {
			continue
		}
		there := 0
		err := l.run([]step{{sql: `SELECT 1 FROM deed_operations WHERE tenant = $1 AND id = ANY($2)`, args: []any{indexedText(string(b.tenant)), ids},
			read: func(pgx.Rows) error { there++; return nil }}})
		if err != nil {
			return err
		}
		slices.Sort(ids)
		if there != len(slices.Compact(ids)) {
			return &refusedError{fmt.Errorf("a key cannot name an operation: %w; nothing was written", deed.ErrNotFound)}
		}
	}
	return nil
}
