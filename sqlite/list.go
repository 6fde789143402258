// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/deed-run/deed"
)

// Sizes of a page, as deed.Query has them.
const (
	defaultLimit = 50
	maxLimit     = 1000
)

// List implements deed.Store. A query of lapsed operations without a tenant
// is one of all tenants; no other query crosses them.
func (l *Ledger) List(ctx context.Context, query deed.Query) (deed.Page, error) {
	limit := query.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	limit = min(limit, maxLimit)
	var page deed.Page
	err := l.read(ctx, func(c *connection) error {
		return c.snapshot(func() error {
			operations, err := list(c, query, limit+1)
			page.Operations = operations
			return err
		})
	})
	if err != nil {
		return deed.Page{}, err
	}
	if len(page.Operations) > limit {
		page.Operations = page.Operations[:limit]
		page.Next = page.Operations[limit-1].ID
	}
	return page, nil
}

// list reads each of the query's parts newest first and merges them. One
// status is one part: the newest of each can be found along an index, the
// newest of several together cannot.
func list(c *connection, query deed.Query, limit int) ([]*deed.Operation, error) {
	var operations []*deed.Operation
	for _, part := range partsOf(query) {
		found, err := listPart(c, query, part, limit)
		if err != nil {
			return nil, err
		}
		operations = append(operations, found...)
	}
	slices.SortFunc(operations, func(a, b *deed.Operation) int { return cmp.Compare(b.ID, a.ID) })
	operations = slices.CompactFunc(operations, func(a, b *deed.Operation) bool {
		return a.ID == b.ID && a.Tenant == b.Tenant
	})
	return operations[:min(limit, len(operations))], nil
}

// condition is a piece of a WHERE clause with what it binds.
type condition struct {
	text string
	bind func(*statement)
	// status is the stored status that the condition asks for.
	status deed.Status
}

func partsOf(query deed.Query) []condition {
	if len(query.Statuses) == 0 {
		return []condition{{text: "1"}}
	}
	var parts []condition
	for _, status := range query.Statuses {
		if slices.Contains(deed.Statuses(), status) {
			parts = append(parts, statusParts(query, status)...)
		}
	}
	return parts
}

// statusParts are one status as stored, or as it counts at a moment: then what
// has run out of its lease or its question is uncertain.
func statusParts(query deed.Query, status deed.Status) []condition {
	if query.Effective.IsZero() {
		return []condition{storedStatus(status, "")}
	}
	at := func(c condition) condition {
		c.bind = func(s *statement) { s.moment(query.Effective) }
		return c
	}
	switch status {
	case deed.StatusExecuting:
		return []condition{at(storedStatus(status, ` AND o.lease_expires_at>?`))}
	case deed.StatusAwaitingInput:
		return []condition{at(storedStatus(status, ` AND o.input_expires_at>?`))}
	case deed.StatusUncertain:
		return []condition{
			storedStatus(status, ""),
			at(storedStatus(deed.StatusExecuting, ` AND o.lease_expires_at<=?`)),
			at(storedStatus(deed.StatusAwaitingInput, ` AND o.input_expires_at<=?`)),
		}
	}
	return []condition{storedStatus(status, "")}
}

// storedStatus asks for a status in the terms of the partial indexes.
func storedStatus(status deed.Status, and string) condition {
	text := `o.status = '` + string(status) + `'`
	switch status {
	case deed.StatusCommitted:
	case deed.StatusExecuting:
		text += ` AND o.standing = 0 AND (o.status = 'executing' OR o.status = 'awaiting_input' OR o.status = 'uncertain')`
	default:
		text += ` AND o.status NOT IN ('committed', 'executing')`
	}
	return condition{text: text + and, status: status}
}

func listText(index string, conditions []condition) string {
	texts := make([]string, len(conditions))
	for i := range conditions {
		texts[i] = conditions[i].text
	}
	return `SELECT ` + lightColumns + ` FROM operations o ` + index + ` WHERE ` + strings.Join(texts, ` AND `) + ` ORDER BY o.id DESC LIMIT ?`
}

func listPart(c *connection, query deed.Query, part condition, limit int) ([]*deed.Operation, error) {
	conditions := append([]condition{part}, conditionsOf(query)...)
	index := indexFor(query, part)
	if index == alongIDs && query.Tool != "" {
		rare, err := isRare(c, query.Tenant, query.Tool)
		if err != nil {
			return nil, err
		}
		if rare {
			index = `INDEXED BY operations_fingerprint`
		}
	}
	s, err := c.prepare(listText(index, conditions))
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for _, condition := range conditions {
		if condition.bind != nil {
			condition.bind(s)
		}
	}
	s.integer(int64(limit))
	var operations []*deed.Operation
	for s.next() {
		at, err := readOperation(s, false)
		if err == nil {
			err = readReceipts(c, at)
		}
		if err != nil {
			return nil, err
		}
		operations = append(operations, at.Operation)
	}
	return operations, s.end()
}

func conditionsOf(query deed.Query) []condition {
	var conditions []condition
	where := func(text string, bind func(*statement)) {
		conditions = append(conditions, condition{text: text, bind: bind})
	}
	if query.Tenant != "" || query.Lapsed.IsZero() {
		where(`o.tenant=?`, func(s *statement) { s.text(string(query.Tenant)) })
	}
	if query.Tool != "" {
		where(`o.tool=?`, func(s *statement) { s.text(string(query.Tool)) })
	}
	if query.Actor != "" {
		where(`o.actor=?`, func(s *statement) { s.text(string(query.Actor)) })
	}
	if query.Fingerprint != "" && query.Tool == "" && query.Tenant != "" {
		where(everyTool, func(s *statement) {
			s.text(string(query.Tenant))
			s.text(string(query.Tenant))
		})
	}
	if query.Fingerprint != "" {
		where(`o.fingerprint=?`, func(s *statement) { s.digest(string(query.Fingerprint)) })
	}
	if query.Matter != "" {
		where(`o.matter=? AND o.matter <> ''`, func(s *statement) { s.text(string(query.Matter)) })
	}
	if query.Reason != "" {
		where(`o.reason=?`, func(s *statement) { s.text(string(query.Reason)) })
	}
	if query.Flagged {
		where(`(o.diverged = 1 OR o.contradicted = 1) AND o.status <> 'executing'`, nil)
	}
	if !query.Lapsed.IsZero() {
		where(`o.lapses_at<=? AND o.lapses_at IS NOT NULL`, func(s *statement) { s.moment(query.Lapsed) })
	}
	if query.Before != "" {
		where(`o.id<?`, func(s *statement) { s.operationID(string(query.Before)) })
	}
	if query.Key != "" {
		where(`o.seq IN (SELECT operation FROM keys WHERE tenant=? AND text=?)`, func(s *statement) {
			s.text(string(query.Tenant))
			s.text(query.Key)
		})
	}
	for _, name := range slices.Sorted(maps.Keys(query.Meta)) {
		where(`EXISTS (SELECT 1 FROM json_each(o.meta) WHERE key=? AND atom=?)`, func(s *statement) {
			s.text(name)
			s.text(query.Meta[name])
		})
	}
	return conditions
}
