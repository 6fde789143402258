// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
)

// Sizes of a page, as deed.Query has them.
const (
	defaultLimit = 50
	maxLimit     = 1000
)

// List implements deed.Store. A query of lapsed operations without a tenant
// is one of all tenants; no other query crosses them.
//
// One status is one statement: the newest of each can be found along an
// index, the newest of several together cannot.
func (l *Ledger) List(ctx context.Context, query deed.Query) (deed.Page, error) {
	limit := query.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	limit = min(limit, maxLimit)
	rare, err := l.isRare(ctx, query)
	if err != nil {
		return deed.Page{}, l.explain(doingRead, err)
	}
	var operations []*deed.Operation
	steps := []step{{sql: `begin isolation level repeatable read read only`}, {sql: sqlListSettings}}
	parts := partsOf(query)
	if rare {
		parts = slices.Concat(narrowed(parts, ` AND o.begun_at IS NOT NULL`), narrowed(parts, ` AND o.begun_at IS NULL`))
	}
	for _, part := range parts {
		steps = append(steps, listPart(query, part, limit+1, func(rows pgx.Rows) error {
			var at row
			_, err := at.scan(rows, nil, at.light())
			operations = append(operations, at.Operation)
			return err
		}))
	}
	if err := l.read(ctx, append(steps, step{sql: `commit`})); err != nil {
		return deed.Page{}, l.explain(doingRead, err)
	}
	slices.SortFunc(operations, func(a, b *deed.Operation) int {
		return cmp.Or(cmp.Compare(b.ID, a.ID), cmp.Compare(b.Tenant, a.Tenant))
	})
	operations = slices.CompactFunc(operations, func(a, b *deed.Operation) bool { return a.ID == b.ID && a.Tenant == b.Tenant })
	page := deed.Page{Operations: operations}
	if len(operations) > limit {
		page.Operations = operations[:limit]
		page.Next = operations[limit-1].ID
	}
	return page, nil
}

// part is the condition of one of a query's statements.
type part struct {
	condition string
	args      []any
	// few: what matches is found along an index that is not in the order of the
	// listing, and is little.
	few bool
	// most: the condition holds for most operations.
	most bool
}

const (
	// sqlListSettings hold for one transaction. A bitmap of the index of what is
	// unresolved visits every operation that was, each time: a plain walk notes
	// which of its entries are dead.
	sqlListSettings = `SELECT set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)`

	// rareTool is the number of operations up to which finding and sorting all of
	// a tool is better than looking for them among all others.
	rareTool = 5000
	sqlRare  = `SELECT (SELECT count(*) FROM (SELECT 1 FROM deed_operations o WHERE o.tenant = $1 AND o.tool = $2 AND o.begun_at IS NOT NULL ORDER BY o.matter LIMIT $3) o)
		+ (SELECT count(*) FROM (SELECT 1 FROM deed_operations o WHERE o.tenant = $1 AND o.tool = $2 AND o.begun_at IS NULL ORDER BY o.id LIMIT $3) o)`
)

// isRare reports whether the query asks for a tool that has no more than
// rareTool operations.
func (l *Ledger) isRare(ctx context.Context, query deed.Query) (bool, error) {
	if query.Tool == "" || query.Tenant == "" || isFew(query) || !slices.ContainsFunc(partsOf(query), func(p part) bool { return p.most }) {
		return false, nil
	}
	var n int64
	err := l.read(ctx, []step{
		{sql: `begin isolation level repeatable read read only`}, {sql: sqlListSettings},
		{
			sql: sqlRare, args: []any{indexedText(string(query.Tenant)), indexedText(string(query.Tool)), rareTool + 1},
			read: func(rows pgx.Rows) error { return rows.Scan(&n) },
		},
		{sql: `commit`},
	})
	return n <= rareTool, err
}

// narrowed are the parts with a further condition that leaves little.
func narrowed(parts []part, condition string) []part {
	next := slices.Clone(parts)
	for i := range next {
		next[i].condition, next[i].few = next[i].condition+condition, true
	}
	return next
}

// isFew reports whether the query itself leaves little.
func isFew(query deed.Query) bool {
	return query.Key != "" || query.Fingerprint != "" || query.Matter != "" || query.Flagged || !query.Lapsed.IsZero()
}

func partsOf(query deed.Query) []part {
	if len(query.Statuses) == 0 {
		return []part{{condition: `true`, few: isFew(query), most: true}}
	}
	var parts []part
	for _, status := range query.Statuses {
		parts = append(parts, statusPart(query, status)...)
	}
	for i := range parts {
		parts[i].few = parts[i].few || isFew(query)
	}
	return parts
}

// statusPart is one status as stored, or as it counts at a moment: then what
// has run out of its lease or its question is uncertain.
func statusPart(query deed.Query, status deed.Status) []part {
	stored := storedStatus(status)
	if query.Effective.IsZero() {
		return []part{stored}
	}
	at := func(p part, condition string) part {
		p.condition, p.args = p.condition+condition, []any{query.Effective.UnixMicro()}
		return p
	}
	switch status {
	case deed.StatusExecuting, deed.StatusAwaitingInput:
		return []part{at(stored, ` AND o.lapses_at > ?`)}
	case deed.StatusUncertain:
		return []part{stored,
			at(storedStatus(deed.StatusExecuting), ` AND o.lapses_at <= ?`),
			at(storedStatus(deed.StatusAwaitingInput), ` AND o.lapses_at <= ?`),
		}
	}
	return []part{stored}
}

// storedStatus names a status in a way that lets the planner use the partial
// indexes. Unknown statuses match nothing.
func storedStatus(status deed.Status) part {
	text := `o.status = '` + string(status) + `'`
	switch {
	case !slices.Contains(deed.Statuses(), status):
		return part{condition: `false`}
	case status == deed.StatusCommitted:
		return part{condition: text, most: true}
	case status == deed.StatusExecuting:
		return part{condition: text + ` AND o.unresolved`, few: true}
	}
	return part{condition: text + ` AND o.status NOT IN ('committed', 'executing')`}
}

func listPart(query deed.Query, of part, limit int, read func(pgx.Rows) error) step {
	w := where{}
	w.add(of.condition, of.args...)
	if query.Tenant != "" || query.Lapsed.IsZero() {
		w.add(`o.tenant = ?`, indexedText(string(query.Tenant)))
	}
	if query.Tool != "" {
		w.add(`o.tool = ?`, indexedText(string(query.Tool)))
	}
	if query.Actor != "" {
		w.add(`o.actor = ?`, indexedText(string(query.Actor)))
	}
	if query.Fingerprint != "" {
		w.add(`o.fingerprint = ?`, indexedText(string(query.Fingerprint)))
	}
	if query.Matter != "" {
		w.add(`o.matter = ? AND o.matter <> ''`, indexedText(string(query.Matter)))
	}
	if query.Reason != "" {
		w.add(`o.reason = ?`, storedText(string(query.Reason)))
	}
	if query.Flagged {
		w.add(flagged)
	}
	if !query.Lapsed.IsZero() {
		w.add(`o.lapses_at <= ? AND o.lapses_at IS NOT NULL`, query.Lapsed.UnixMicro())
	}
	if query.Before != "" {
		w.add(`o.id < ?`, indexedText(string(query.Before)))
	}
	if query.Key != "" {
		w.add(`o.id IN (SELECT operation FROM deed_keys WHERE tenant = ? AND text = ?)`, indexedText(string(query.Tenant)), indexedText(query.Key))
	}
	for _, name := range slices.Sorted(maps.Keys(query.Meta)) {
		w.add(`(o.record::json -> 'meta' ->> ?::text) = ?::text`, storedText(name), storedText(query.Meta[name]))
	}
	w.args = append(w.args, limit)
	bound := fmt.Sprintf(` LIMIT $%d`, len(w.args))
	if !of.few {
		return step{
			sql:  `SELECT ` + lightColumns + ` FROM deed_operations o WHERE ` + w.text() + ` ORDER BY o.id DESC` + bound,
			args: w.args, read: read,
		}
	}
	return step{
		sql:  `SELECT ` + lightColumns + ` FROM (SELECT i.* FROM (SELECT o.tenant, o.id FROM deed_operations o WHERE ` + w.text() + ` OFFSET 0) i ORDER BY i.id DESC` + bound + `) i` + alongIDs,
		args: w.args, read: read,
	}
}

const (
	// alongIDs ends a statement that found which operations it is about before it
	// put them in order. The planner would otherwise walk all of a tenant's in the
	// order of the listing until enough match, which is right only when most do.
	alongIDs = `
		CROSS JOIN LATERAL (SELECT * FROM deed_operations o WHERE o.tenant = i.tenant AND o.id = i.id LIMIT 1) o ORDER BY i.id DESC`

	// flagged is the condition of the index of operations on which evidence
	// disagrees.
	flagged = `o.status <> 'executing' AND (strpos(o.record, '"diverged":true') > 0 OR strpos(o.record, '"contradicted":true') > 0)`
)
