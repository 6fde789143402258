// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/deed-run/deed/sqlite"
)

// floor writes what the real path wrote, into a ledger of its own, in a bare
// loop: the same rows, bytes and indexes with the same driver and the same
// syncs, without decisions, locks or hand-over.
type floor struct {
	db      *sqlite3.Conn
	pattern *pattern
	inserts []*sqlite3.Stmt
	updates [phases]*sqlite3.Stmt
	calls   []prepared
}

// prepared is one call with its values laid out for the statements, so that
// the loop does nothing but write.
type prepared struct {
	insert [phases][]insertion
	update [phases][]value
}

type insertion struct {
	table  int
	values []value
}

// openFloor makes an empty ledger at path and prepares to write again what the
// real ledger at source has.
func openFloor(ctx context.Context, path, source string, p *pattern) (*floor, error) {
	from, err := sqlite3.OpenFlags(source, sqlite3.OPEN_READONLY)
	if err != nil {
		return nil, fmt.Errorf("reading what the real path wrote: %w", err)
	}
	calls, err := readRecorded(from, "")
	if err = errors.Join(err, from.Close()); err != nil {
		return nil, fmt.Errorf("reading what the real path wrote: %w", err)
	}
	schema, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	if err := schema.Close(); err != nil {
		return nil, err
	}
	db, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		return nil, err
	}
	f := &floor{db: db, pattern: p}
	if err := f.prepare(calls); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// prepare sets the connection up as the ledger does and lays the calls out.
func (f *floor) prepare(calls []recorded) error {
	err := f.db.Exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;
		PRAGMA checkpoint_fullfsync = ON; PRAGMA cache_size = -16384; PRAGMA trusted_schema = OFF`)
	if err != nil {
		return err
	}
	for _, t := range f.pattern.tables {
		s, err := f.statement("INSERT INTO " + t.name + " (" + strings.Join(t.columns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(t.columns)-1) + ")")
		if err != nil {
			return err
		}
		f.inserts = append(f.inserts, s)
	}
	operations := f.pattern.tables[0]
	for at := settle; at < phases; at++ {
		var set []string
		for _, column := range f.pattern.changed[at] {
			set = append(set, operations.columns[column]+"=?")
		}
		if len(set) == 0 {
			continue
		}
		if f.updates[at], err = f.statement("UPDATE operations SET " + strings.Join(set, ", ") + " WHERE seq=?"); err != nil {
			return err
		}
	}
	for _, call := range calls {
		f.calls = append(f.calls, f.pattern.layOut(call))
	}
	return nil
}

func (f *floor) statement(text string) (*sqlite3.Stmt, error) {
	s, _, err := f.db.PrepareFlags(text, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, fmt.Errorf("preparing the floor: %w", err)
	}
	return s, nil
}

// layOut sorts a call's rows into the phases that wrote them.
func (p *pattern) layOut(r recorded) prepared {
	var c prepared
	used := make([]int, len(p.tables))
	for at := range phases {
		for t := range p.tables {
			for range p.added[at][t] {
				if used[t] == len(r.rows[t]) {
					break
				}
				values := append([]value(nil), r.rows[t][used[t]]...)
				used[t]++
				if t == 0 {
					values = append([]value(nil), p.state(r, begin)...)
				} else if p.tables[t].columns[0] == "seq" {
					values[0] = nil // the next one, as the real path has it
				}
				c.insert[at] = append(c.insert[at], insertion{t, values})
			}
		}
		if at == begin || len(p.changed[at]) == 0 {
			continue
		}
		now := p.state(r, at)
		for _, column := range p.changed[at] {
			c.update[at] = append(c.update[at], now[column])
		}
		c.update[at] = append(c.update[at], now[p.tables[0].link])
	}
	return c
}

// write makes one phase of one call.
func (f *floor) write(n int, at phase) error {
	call := &f.calls[n]
	for _, one := range call.insert[at] {
		if err := execute(f.inserts[one.table], one.values); err != nil {
			return err
		}
	}
	if f.updates[at] == nil || at == begin {
		return nil
	}
	return execute(f.updates[at], call.update[at])
}

func execute(s *sqlite3.Stmt, values []value) error {
	if err := bindAll(s, values); err != nil {
		return err
	}
	return s.Exec()
}

// run writes the calls first..end, group of them per transaction: one
// transaction for their begins and one for their settlements. What is
// delivered rides with the next one.
func (f *floor) run(ctx context.Context, group, first, end int) (sample, error) {
	var s sample
	began, spent := time.Now(), processTime()
	for from := first; from < end; from += group {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		start := time.Now()
		to := min(from+group, end)
		if err := f.transaction(max(0, from-group), from, deliver, from, to, begin); err != nil {
			return s, err
		}
		if err := f.transaction(0, 0, deliver, from, to, settle); err != nil {
			return s, err
		}
		took := time.Since(start)
		for range to - from {
			s.latencies = append(s.latencies, took)
		}
	}
	var err error
	if end == len(f.calls) {
		last := (end - 1) / group * group
		err = f.transaction(0, 0, deliver, last, end, deliver)
	}
	s.elapsed, s.processor = time.Since(began), processTime()-spent
	return s, err
}

// transaction commits one phase of the calls from..to, and before it another
// of the calls since..until.
func (f *floor) transaction(since, until int, first phase, from, to int, second phase) (err error) {
	if err := f.db.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for n := since; n < until && err == nil; n++ {
		err = f.write(n, first)
	}
	for n := from; n < to && err == nil; n++ {
		err = f.write(n, second)
	}
	if err != nil {
		return errors.Join(err, f.db.Exec("ROLLBACK"))
	}
	return f.db.Exec("COMMIT")
}

func (f *floor) close() error {
	for _, s := range append(f.inserts, f.updates[:]...) {
		if s != nil {
			_ = s.Close()
		}
	}
	return f.db.Close()
}
