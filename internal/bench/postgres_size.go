// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// templateTables are those whose rows belong to operations, by the column that
// says to which.
var templateTables = []struct{ name, link string }{
	{"deed_operations", "id"}, {"deed_keys", "operation"}, {"deed_events", "operation"},
}

// largeLedger compares guarded calls on a ledger with many operations, loaded
// by COPY, with those on an empty one, one caller each, in turns.
func (r *postgresRun) largeLedger(ctx context.Context) error {
	if r.Rows == 0 {
		return nil
	}
	_, full, err := r.database(ctx)
	if err != nil {
		return err
	}
	_, empty, err := r.database(ctx)
	if err != nil {
		return err
	}
	large, err := openOnPostgres(ctx, full)
	if err != nil {
		return err
	}
	small, err := openOnPostgres(ctx, empty)
	if err != nil {
		return errors.Join(err, large.close(ctx))
	}
	defer func() { _ = errors.Join(large.close(ctx), small.close(ctx)) }()
	if err := large.operate(ctx, "copied", 0); err != nil {
		return err
	}
	if err := r.fill(ctx, full); err != nil {
		return fmt.Errorf("loading %d operations: %w", r.Rows, err)
	}
	var onLarge, onSmall []sample
	const calls = 400
	for round := range r.PostgresOptions.Rounds {
		r.say("guarded calls beside %d operations, round %d of %d", r.Rows, round+1, r.PostgresOptions.Rounds)
		var a, b sample
		for from := 0; from < calls; from += 50 {
			run := fmt.Sprintf("size%d", round)
			x, err := drive(ctx, 1, 50, func(ctx context.Context, n int) error { return large.operate(ctx, run, from+n) })
			if err != nil {
				return err
			}
			y, err := drive(ctx, 1, 50, func(ctx context.Context, n int) error { return small.operate(ctx, run, from+n) })
			if err != nil {
				return err
			}
			a.add(x)
			b.add(y)
		}
		onLarge, onSmall = append(onLarge, a), append(onSmall, b)
	}
	r.line("guarded call, empty ledger", 1, onSmall)
	r.line(fmt.Sprintf("guarded call, %d operations", r.Rows), 1, onLarge)
	lines := r.report.Lines[len(r.report.Lines)-2:]
	r.most(fmt.Sprintf("guarded call beside %d operations: p50 beside an empty ledger", r.Rows), ratio(lines[1].P50, lines[0].P50), 1.5)
	return nil
}

// fill copies the one committed operation of a ledger under other names, until
// there are as many as were asked for.
func (r *postgresRun) fill(ctx context.Context, address string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var operation, fingerprint string
	if err := conn.QueryRow(ctx, `SELECT id, fingerprint FROM deed_operations`).Scan(&operation, &fingerprint); err != nil {
		return err
	}
	for _, table := range templateTables {
		r.say("loading %d rows of %s", r.Rows, table.name)
		rows, err := conn.Query(ctx, `SELECT * FROM `+table.name+` WHERE `+table.link+` = $1`, operation)
		if err != nil {
			return err
		}
		var names []string
		for _, field := range rows.FieldDescriptions() {
			names = append(names, field.Name)
		}
		templates, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
		if err != nil {
			return err
		}
		c := &copies{templates: templates, count: r.Rows - 1, operation: operation, fingerprint: fingerprint, events: table.name == "deed_events", names: names}
		restore, err := withoutIndexes(ctx, conn, table.name)
		if err != nil {
			return err
		}
		if _, err := conn.CopyFrom(ctx, pgx.Identifier{table.name}, names, c); err != nil {
			return err
		}
		for _, statement := range append(restore, `VACUUM ANALYZE `+table.name) {
			if _, err := conn.Exec(ctx, statement); err != nil {
				return err
			}
		}
	}
	_, err = conn.Exec(ctx, `CHECKPOINT`)
	return err
}

// withoutIndexes drops what a table has beside its primary key, and returns the
// statements that make it again: that is done faster once than row by row.
func withoutIndexes(ctx context.Context, conn *pgx.Conn, table string) ([]string, error) {
	rows, err := conn.Query(ctx, `SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid)
		FROM pg_index i WHERE i.indrelid = $1::text::regclass AND NOT i.indisprimary`, table)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Name, Definition string }])
	if err != nil {
		return nil, err
	}
	restore := []string{`SET maintenance_work_mem = '512MB'`}
	for _, index := range found {
		if _, err := conn.Exec(ctx, `DROP INDEX `+index.Name); err != nil {
			return nil, err
		}
		restore = append(restore, index.Definition)
	}
	return restore, nil
}

// copies yields rows that are the templates under the names of the n-th
// operation; see pgx.CopyFromSource.
type copies struct {
	templates              [][]any
	names                  []string
	count, at              int
	operation, fingerprint string
	// events: each row has an id of its own too.
	events bool
}

func (c *copies) Next() bool {
	c.at++
	return c.at <= c.count*len(c.templates)
}

func (c *copies) Err() error { return nil }

func (c *copies) Values() ([]any, error) {
	n, which := (c.at-1)/len(c.templates)+1, (c.at-1)%len(c.templates)
	// What a copy must not share, and what it is called there: names are as
	// long as before, for some are parts of lengths.
	replaced := []string{
		c.operation, fmt.Sprintf("%s%016d", c.operation[:len(c.operation)-16], n),
		c.fingerprint, fmt.Sprintf("%s%016d", c.fingerprint[:len(c.fingerprint)-16], n),
		"order-copied-0000000", fmt.Sprintf("order-copied-%07d", n%10000000),
		"pay-copied-order-0000000", fmt.Sprintf("pay-copied-order-%07d", n%10000000),
	}
	names := strings.NewReplacer(replaced...)
	row := make([]any, len(c.templates[which]))
	for i, value := range c.templates[which] {
		switch v := value.(type) {
		case string:
			text := names.Replace(v)
			if c.events && c.names[i] == "id" {
				text = fmt.Sprintf("%s%02d%014d", v[:len(v)-16], which, n)
			}
			row[i] = text
		case []byte:
			row[i] = replaceAll(v, replaced)
		case int64:
			if row[i] = v; c.events && c.names[i] == "writer" {
				row[i] = int64(n) // events are told apart by when and by whom they were written
			}
		default:
			row[i] = value
		}
	}
	return row, nil
}

func replaceAll(data []byte, pairs []string) []byte {
	for i := 0; i < len(pairs); i += 2 {
		data = bytes.ReplaceAll(data, []byte(pairs[i]), []byte(pairs[i+1]))
	}
	return data
}
