// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
)

// Statements of a batch that is decided before the ledger was read. Each of
// them fails, by a division by zero, unless what was assumed is so.
const (
	// sqlAssume also makes sure that the clock is what it was taken for.
	sqlAssume = `SELECT 1 / (CASE WHEN (SELECT version FROM deed_ledger) = $2 AND (abs(` + now + ` - $3::bigint) < 1000000) IS NOT FALSE THEN 1 ELSE 0 END), ` + now + `,
		set_config('lock_timeout', $1, true), ` + settings

	// sqlNothing makes sure that no key is taken, nothing is like what begins,
	// and the rules are those that were in force. It comes after the locks.
	sqlNothing = `SELECT 1 / (CASE WHEN abs(` + now + ` - $2::bigint) >= 1000000
		OR (SELECT k.found FROM unnest($3::text[], $4::text[], $5::text[]) q(text, family, actor) CROSS JOIN LATERAL (
			SELECT 1 AS found FROM deed_keys k WHERE k.tenant = $1 AND k.text = q.text AND k.family = q.family AND k.actor = q.actor LIMIT 1) k LIMIT 1) IS NOT NULL
		OR (SELECT o.found FROM unnest($6::text[], $7::text[]) q(tool, fingerprint) CROSS JOIN LATERAL (
			SELECT 1 AS found FROM deed_operations o WHERE o.tenant = $1 AND o.tool = q.tool AND o.fingerprint = q.fingerprint LIMIT 1) o LIMIT 1) IS NOT NULL
		OR (SELECT e.found FROM unnest($6::text[], $7::text[]) q(tool, fingerprint) CROSS JOIN LATERAL (
			SELECT 1 AS found FROM deed_events e WHERE e.tenant = $1 AND e.tool = q.tool AND e.fingerprint = q.fingerprint AND e.name = 'conflict' LIMIT 1) e LIMIT 1) IS NOT NULL
		OR (SELECT o.found FROM unnest($8::text[], $9::text[]) q(tool, matter) CROSS JOIN LATERAL (
			SELECT 1 AS found FROM deed_operations o WHERE o.tenant = $1 AND o.tool = q.tool AND o.matter = q.matter AND o.matter <> '' LIMIT 1) o LIMIT 1) IS NOT NULL
		OR (SELECT r.other FROM unnest($10::text[], $11::text[], $12::text[], $13::bytea[]) t(tool, rules, name, active) CROSS JOIN LATERAL (
			SELECT (SELECT s.value FROM deed_settings s WHERE s.name = t.name) IS DISTINCT FROM t.active
			OR (SELECT 1 FROM deed_operations o WHERE o.tenant = $1 AND o.tool = t.tool AND o.unresolved AND o.fingerprint_rules < t.rules LIMIT 1) IS NOT NULL
			OR (SELECT 1 FROM deed_operations o WHERE o.tenant = $1 AND o.tool = t.tool AND o.unresolved AND o.fingerprint_rules > t.rules LIMIT 1) IS NOT NULL
			AS other) r WHERE r.other LIMIT 1) IS NOT NULL
		THEN 0 ELSE 1 END)`
)

// assumption is a batch that is decided on what this process knows, and sent
// in one round trip with statements that fail unless the ledger agrees: new
// keys name nothing, and operations that were begun here have not moved.
// Nothing of it is written otherwise, and its jobs are decided on the ledger.
type assumption struct {
	*batch
	writers *writers
	at      *int64
	taken   []*job

	keys         keyArrays
	fingerprints laneArrays
	matters      laneArrays
	tools        toolArrays
	locks        []int32
}

// toolArrays are the rules that claims are decided by.
type toolArrays struct {
	tool, rules, name []string
	active            [][]byte
}

func (a *toolArrays) add(tool, rules, name string, active []byte) {
	for i := range a.tool {
		if a.tool[i] == tool && a.rules[i] == rules && bytes.Equal(a.active[i], active) && (a.active[i] == nil) == (active == nil) {
			return
		}
	}
	a.tool, a.rules = append(a.tool, tool), append(a.rules, rules)
	a.name, a.active = append(a.name, name), append(a.active, active)
}

// worthParting is how many jobs must be assumed for each that has to wait for
// the transaction of its own that this makes.
const worthParting = 8

// assume commits the jobs that need no look into the ledger and returns the
// others.
func (w *writer) assume(jobs []*job) (left, done []*job) {
	likely, left := w.sift(jobs)
	if len(likely) == 0 || len(likely) < worthParting*len(left) {
		return jobs, nil
	}
	a := &assumption{batch: newBatch(likely, w.number, w.patience), writers: w.writers}
	if !a.tell() {
		return jobs, nil
	}
	for i, j := range a.changing {
		if !a.decide(j, a.read.requests[i]) {
			left = append(left, j)
		}
	}
	for _, j := range likely {
		if j.change == nil {
			a.taken = append(a.taken, j)
		}
	}
	if len(a.taken) == 0 {
		return jobs, nil
	}
	if err := w.send(a); err != nil {
		return jobs, nil
	}
	return left, a.taken
}

// sift parts what may be assumed from what has to be looked up. Batched events
// go with what is assumed; a change that they may decide is looked up after them.
func (w *writer) sift(jobs []*job) (likely, left []*job) {
	if !w.memory.hopeful() {
		return nil, jobs
	}
	told := map[string]bool{}
	for _, j := range jobs {
		if j.change == nil {
			for _, name := range j.about() {
				told[name] = true
			}
		}
	}
	for _, j := range jobs {
		after := j.change != nil && slices.ContainsFunc(j.names(), func(name string) bool { return told[name] })
		if j.change == nil || j.lost == nil && !after && (begins(&j.scope) || moves(&j.scope) && w.memory.has(j.scope.Tenant, j.scope.ID)) {
			likely = append(likely, j)
		} else {
			left = append(left, j)
		}
	}
	return likely, left
}

// begins: a claim whose view is empty if nothing is like it.
func begins(scope *deed.Scope) bool {
	if scope.ID != "" || scope.Tool == "" || len(scope.Keys) == 0 || len(scope.Budgets) > 0 || scope.Consent != "" {
		return false
	}
	return !slices.ContainsFunc(scope.Keys, func(key deed.Key) bool { return key.Generation > 1 })
}

// moves: nothing but the operation is asked for.
func moves(scope *deed.Scope) bool {
	return scope.ID != "" && scope.Tool == "" && len(scope.Budgets) == 0 && scope.Consent == "" && !scope.Lineage && !scope.Later
}

// tell takes the time from what the database's clock said last.
func (a *assumption) tell() bool {
	if a.writers.clock != nil {
		a.now = ledgerTime(a.writers.clock.Now())
		return true
	}
	var there bool
	if a.now, there = a.writers.memory.time(); !there {
		return len(a.changing) == 0
	}
	us := a.now.UnixMicro()
	a.at = &us
	return true
}

// decide decides one job; false leaves it to the ledger.
func (a *assumption) decide(j *job, q *request) bool {
	// What is in force may be learned anew meanwhile: the database is asked
	// about what was decided by.
	active, known := a.writers.memory.active(q.scope.Tool)
	if q.scope.ID == "" {
		if !known || slices.ContainsFunc(q.scope.Keys, func(key deed.Key) bool { return a.writers.memory.hasKey(q.scope.Tenant, key) }) {
			return false
		}
		q.view.Active = deed.Digest(active)
	} else {
		at := a.writers.memory.get(q.scope.Tenant, q.scope.ID)
		if at == nil {
			return false
		}
		q.is(named{stored: at})
	}
	q.view.Now = a.now
	wanted, err := j.decide(q.view)
	if err != nil || len(wanted.Put) == 0 || len(strangers(q, wanted)) > 0 || a.writing.overlaps(wanted) || a.writing.add(q, wanted) != nil {
		return false
	}
	j.err, j.put, j.wanted = nil, wanted.Put, wanted
	a.taken = append(a.taken, j)
	if q.scope.ID == "" {
		a.ask(q, active)
	}
	return true
}

// ask adds what has to be so for a view to be empty but for the rules in force.
func (a *assumption) ask(q *request, active []byte) {
	scope := &q.scope
	for rank, key := range scope.Keys {
		a.keys.add(0, rank, key, scope)
	}
	tool := indexedText(string(scope.Tool))
	for _, fingerprint := range scope.Fingerprints {
		a.fingerprints.add(0, tool, string(fingerprint))
	}
	for _, matter := range scope.Matters {
		if matter != "" {
			a.matters.add(0, tool, string(matter))
		}
	}
	a.tools.add(tool, indexedText(string(scope.FingerprintRules)), indexedText(deed.ActiveSetting(scope.Tool)), active)
	a.locks = append(a.locks, slots(scope)...)
}

// steps are the whole transaction.
func (a *assumption) steps() ([]step, error) {
	tenant := indexedText(string(a.tenant))
	steps := []step{{sql: sqlBegin}, {sql: sqlAssume, args: []any{milliseconds(a.lockWait()), int64(newestVersion), a.at}, read: func(rows pgx.Rows) error {
		var us int64
		values := rows.RawValues()
		err := rows.Scan(append([]any{nil, &us}, make([]any, len(values)-2)...)...)
		a.now = fromMicros(us)
		return err
	}}}
	if len(a.locks) > 0 {
		slices.Sort(a.locks)
		steps = append(steps, step{sql: sqlLockSlots, args: []any{tenant, slices.Compact(a.locks)}})
	}
	if len(a.keys.text) > 0 {
		steps = append(steps, step{sql: sqlNothing, rows: max(len(a.keys.text), len(a.fingerprints.tool), len(a.matters.tool), len(a.tools.tool)), args: []any{
			tenant, a.at, a.keys.text, a.keys.family, a.keys.actor, a.fingerprints.tool, a.fingerprints.equal, a.matters.tool, a.matters.equal,
			a.tools.tool, a.tools.rules, a.tools.name, a.tools.active,
		}})
	}
	// In the order of their ids, as whoever locks several takes them.
	slices.SortFunc(a.writing.order, func(x, y *stored) int { return cmp.Compare(x.ID, y.ID) })
	written, err := a.writing.steps(tenant, a.writer, &a.appended)
	if err != nil {
		return nil, err
	}
	return append(append(steps, written...), step{sql: `commit`, want: "COMMIT"}), nil
}

// send commits what was assumed.
func (w *writer) send(a *assumption) error {
	if w.link != nil && !w.link.lives() {
		w.discard()
	}
	if w.link == nil {
		link, err := openLink(w.config, w.patience)
		if err != nil {
			return err
		}
		w.link = link
	}
	steps, err := a.steps()
	if err != nil {
		return err
	}
	w.link.warned.Store(false)
	before := w.link.sent.Load()
	err = w.link.run(steps)
	switch {
	case err == nil && !w.link.warned.Load():
		w.memory.note(a.tenant, a.writing, &a.appended)
		w.memory.heard(a.now)
		w.memory.hope(true)
		return nil
	case err == nil:
		err = errWarned
	case notCommitted(err) && !w.link.conn.IsClosed():
		w.memory.hope(false)
		w.memory.forget(a.tenant, a.writing)
		return w.undo(err)
	}
	w.memory.forget(a.tenant, a.writing)
	if w.link.sent.Load() == before {
		w.discard() // a link that was dead already
		return err
	}
	for _, j := range a.taken {
		lost := j.wanted
		j.lost = &lost
	}
	w.discard()
	return &lostError{err}
}
