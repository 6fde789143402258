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
	var operations []*deed.Operation
	steps := []step{{sql: `begin isolation level repeatable read read only`}}
	for _, part := range partsOf(query) {
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
}

func partsOf(query deed.Query) []part {
	if len(query.Statuses) == 0 {
		return []part{{condition: `true`}}
	}
	var parts []part
	for _, status := range query.Statuses {
		parts = append(parts, statusPart(query, status)...)
	}
	return parts
}

// statusPart is one status as stored, or as it counts at a moment: then what
// has run out of its lease or its question is uncertain.
func statusPart(query deed.Query, status deed.Status) []part {
	stored := part{condition: storedStatus(status)}
	if query.Effective.IsZero() {
		return []part{stored}
	}
	at := query.Effective.UnixMicro()
	switch status {
	case deed.StatusExecuting, deed.StatusAwaitingInput:
		return []part{{stored.condition + ` AND o.lapses_at > ?`, []any{at}}}
	case deed.StatusUncertain:
		return []part{stored,
			{storedStatus(deed.StatusExecuting) + ` AND o.lapses_at <= ?`, []any{at}},
			{storedStatus(deed.StatusAwaitingInput) + ` AND o.lapses_at <= ?`, []any{at}},
		}
	}
	return []part{stored}
}

// storedStatus names a status in a way that lets the planner use the partial
// indexes. Unknown statuses match nothing.
func storedStatus(status deed.Status) string {
	if !slices.Contains(deed.Statuses(), status) {
		return `false`
	}
	text := `o.status = '` + string(status) + `'`
	switch status {
	case deed.StatusCommitted:
	case deed.StatusExecuting:
		text += ` AND o.unresolved`
	default:
		text += ` AND o.status NOT IN ('committed', 'executing')`
	}
	return text
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
	return step{
		sql:  `SELECT ` + lightColumns + ` FROM deed_operations o WHERE ` + w.text() + fmt.Sprintf(` ORDER BY o.id DESC LIMIT $%d`, len(w.args)),
		args: w.args, read: read,
	}
}
