// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"fmt"
	"slices"

	"github.com/deed-run/deed"
)

// Sizes of a page, as the contract of deed.Query has them.
const (
	defaultLimit = 50
	maxLimit     = 1000
)

// List implements deed.Store.
func (m *Memory) List(ctx context.Context, query deed.Query) (deed.Page, error) {
	if err := ctx.Err(); err != nil {
		return deed.Page{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var matching []*deed.Operation
	for _, op := range m.operations {
		if m.matches(query, op) {
			matching = append(matching, op)
		}
	}
	slices.SortFunc(matching, newestFirst)
	limit := query.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	limit = min(limit, maxLimit)
	var page deed.Page
	for i, op := range matching {
		if i == limit {
			page.Next = matching[i-1].ID
			break
		}
		page.Operations = append(page.Operations, light(op))
	}
	return page, nil
}

func (m *Memory) matches(query deed.Query, op *deed.Operation) bool {
	status := op.Status
	if !query.Effective.IsZero() {
		status = op.EffectiveStatus(query.Effective)
	}
	lapses := op.LapsesAt()
	switch {
	case op.Tenant != query.Tenant && (query.Tenant != "" || query.Lapsed.IsZero()),
		len(query.Statuses) > 0 && !slices.Contains(query.Statuses, status),
		query.Tool != "" && op.Tool != query.Tool,
		query.Actor != "" && op.Actor != query.Actor,
		query.Key != "" && !m.hasKey(op, query.Key),
		query.Fingerprint != "" && op.Fingerprint != query.Fingerprint,
		query.Matter != "" && op.Matter != query.Matter,
		query.Reason != "" && op.Reason != query.Reason,
		query.Flagged && (op.Status == deed.StatusExecuting || !op.Diverged && !op.Contradicted),
		!query.Lapsed.IsZero() && (lapses.IsZero() || query.Lapsed.Before(lapses)),
		query.Before != "" && op.ID >= query.Before:
		return false
	}
	for name, value := range query.Meta {
		if has, there := op.Meta[name]; !there || has != value {
			return false
		}
	}
	return true
}

// hasKey reports whether the text is one of the operation's keys or aliases.
func (m *Memory) hasKey(op *deed.Operation, text string) bool {
	for b, at := range m.keys {
		if b.tenant == op.Tenant && b.text == text && at.id == op.ID {
			return true
		}
	}
	return false
}

// Events implements deed.Store.
func (m *Memory) Events(ctx context.Context, query deed.EventQuery) ([]deed.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	from := 0
	if query.After != "" {
		at := slices.IndexFunc(m.events, func(e deed.Event) bool { return e.ID == query.After && e.Tenant == query.Tenant })
		if at < 0 {
			return nil, fmt.Errorf("event %s, after which to go on: %w", query.After, deed.ErrNotFound)
		}
		from = at + 1
	}
	limit := query.Limit
	if limit <= 0 || limit > maxLimit {
		limit = maxLimit
	}
	var events []deed.Event
	for _, event := range m.events[from:] {
		if len(events) == limit {
			break
		}
		if event.Tenant != query.Tenant ||
			query.Operation != "" && event.OperationID != query.Operation ||
			query.Name != "" && event.Name != query.Name {
			continue
		}
		events = append(events, copyEvent(event))
	}
	return events, nil
}
