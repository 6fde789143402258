// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/deed-run/deed"
)

// phase is one of the three writes that a guarded call leaves.
type phase int

const (
	begin phase = iota
	settle
	deliver
	phases
)

// pattern says which rows and columns each phase writes. It is learnt from the
// real path, by looking at the ledger after each phase of one call, so the
// floor follows every change of the schema by itself.
type pattern struct {
	tables []table
	// added is the number of rows that a phase adds to a table.
	added [phases][]int
	// changed are the columns of operations that a phase changes.
	changed [phases][]int
	// before are the values of operations after each phase, for columns that a
	// later phase changes.
	before [phases]row
}

// learn runs two payments on a ledger and observes the second, when what every
// process writes once has been written.
func learn(ctx context.Context, path string) (*pattern, error) {
	g, err := openGuarded(ctx, path)
	if err != nil {
		return nil, err
	}
	p, err := g.observe(ctx, path)
	if end := g.close(ctx); err == nil {
		err = end
	}
	if err != nil {
		return nil, fmt.Errorf("learning what a call writes: %w", err)
	}
	return p, nil
}

func (g *guarded) observe(ctx context.Context, path string) (*pattern, error) {
	if err := g.operate(ctx, "first", 0); err != nil {
		return nil, err
	}
	db, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	p := &pattern{}
	if p.tables, err = readShape(db); err != nil {
		return nil, err
	}
	answer, grant, err := g.runtime.Claim(ctx, payment("second", 1))
	if err != nil || grant == nil {
		return nil, fmt.Errorf("the payment was not granted: %s %w", answer.Reason, err)
	}
	if err := p.look(db, begin); err != nil {
		return nil, err
	}
	if answer, err = g.runtime.Settle(ctx, grant, paid("second", 1)); err != nil {
		return nil, err
	}
	if err := p.look(db, settle); err != nil {
		return nil, err
	}
	g.runtime.Delivered(ctx, answer)
	// Batched events are durable once a later transaction is.
	if _, err := g.ledger.Transact(ctx, deed.Scope{Tenant: "bench"}, func(deed.View) (deed.Change, error) { return deed.Change{}, nil }); err != nil {
		return nil, err
	}
	return p, p.look(db, deliver)
}

// look notes what the newest operation has after a phase.
func (p *pattern) look(db *sqlite3.Conn, at phase) error {
	r, err := newest(db)
	if err != nil {
		return err
	}
	p.before[at] = r.rows[0][0]
	p.added[at] = make([]int, len(p.tables))
	for i := range p.tables {
		p.added[at][i] = len(r.rows[i])
		for earlier := range at {
			p.added[at][i] -= p.added[earlier][i]
		}
	}
	if at == begin {
		return nil
	}
	for column, now := range p.before[at] {
		if !equalValues(p.before[at-1][column], now) {
			p.changed[at] = append(p.changed[at], column)
		}
	}
	return nil
}

// recorded is everything that one call left: its rows in each table.
type recorded struct{ rows [][]row }

func newest(db *sqlite3.Conn) (recorded, error) {
	all, err := readRecorded(db, "WHERE seq = (SELECT max(seq) FROM operations)")
	if err != nil {
		return recorded{}, err
	}
	if len(all) != 1 {
		return recorded{}, fmt.Errorf("the ledger has no operation")
	}
	return all[0], nil
}

// readRecorded returns what the selected operations left, in their order.
func readRecorded(db *sqlite3.Conn, which string) ([]recorded, error) {
	tables, err := readShape(db)
	if err != nil {
		return nil, err
	}
	operations, err := query(db, "SELECT * FROM operations "+which+" ORDER BY seq")
	if err != nil {
		return nil, err
	}
	all := make([]recorded, len(operations))
	places := map[string]int64{}
	id := tables[0].column("id")
	for i, op := range operations {
		all[i].rows = make([][]row, len(tables))
		all[i].rows[0] = []row{op}
		if name, ok := op[id].([]byte); ok {
			places[string(name)] = op[tables[0].link].(int64)
		}
	}
	for t := 1; t < len(tables); t++ {
		of, err := readRows(db, tables[t], places)
		if err != nil {
			return nil, err
		}
		for i, op := range operations {
			all[i].rows[t] = of[op[tables[0].link].(int64)]
		}
	}
	return all, nil
}

// state returns the values of operations after a phase: those that a later
// phase changes are the pattern's, which are as long as the real ones.
func (p *pattern) state(r recorded, at phase) row {
	now := slices.Clone(r.rows[0][0])
	for later := at + 1; later < phases; later++ {
		for _, column := range p.changed[later] {
			now[column] = p.before[at][column]
		}
	}
	return now
}
