// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
)

// Events implements deed.Store. A limit of 0, or above 1000, is 1000.
func (l *Ledger) Events(ctx context.Context, query deed.EventQuery) ([]deed.Event, error) {
	at, err := l.placeOfEvent(ctx, query)
	if err != nil {
		return nil, err
	}
	limit := query.Limit
	if limit <= 0 || limit > maxLimit {
		limit = maxLimit
	}
	w := where{}
	w.add(`tenant = ?`, indexedText(string(query.Tenant)))
	w.add(`(placed, writer, place) > (?, ?, ?)`, at.placed, at.writer, at.place)
	if query.Operation != "" {
		w.add(`operation = ?`, indexedText(string(query.Operation)))
	}
	if query.Name != "" {
		w.add(`name = ?`, storedText(string(query.Name)))
	}
	w.args = append(w.args, limit)
	var events []deed.Event
	err = l.read(ctx, []step{{
		sql: `SELECT id, operation, version, at, name, actor, attempt, status_from, status_to, reason, tool, fingerprint, data
			FROM deed_events WHERE ` + w.text() + fmt.Sprintf(` ORDER BY placed, writer, place LIMIT $%d`, len(w.args)),
		args: w.args,
		read: func(rows pgx.Rows) error {
			event, err := readEvent(rows, query.Tenant)
			events = append(events, event)
			return err
		},
	}})
	if err != nil {
		return nil, l.explain(doingRead, err)
	}
	return events, nil
}

func readEvent(rows pgx.Rows, tenant deed.Tenant) (deed.Event, error) {
	event := deed.Event{Tenant: tenant}
	var at int64
	err := rows.Scan(&event.ID, &event.OperationID, &event.Version, &at, &event.Name, &event.Actor, &event.Attempt,
		&event.From, &event.To, &event.Reason, &event.Tool, &event.Fingerprint, &event.Data)
	event.At = fromMicros(at)
	event.ID = deed.EventID(givenText(string(event.ID)))
	event.OperationID = deed.OperationID(givenText(string(event.OperationID)))
	event.Name = deed.EventName(givenText(string(event.Name)))
	event.Actor = deed.Actor(givenText(string(event.Actor)))
	event.From, event.To = deed.Status(givenText(string(event.From))), deed.Status(givenText(string(event.To)))
	event.Reason = deed.Reason(givenText(string(event.Reason)))
	event.Tool = deed.Tool(givenText(string(event.Tool)))
	event.Fingerprint = deed.Fingerprint(givenText(string(event.Fingerprint)))
	return event, err
}

// placeOfEvent finds the event after which a listing goes on. Ids of a tenant
// carry no index of their own, for every decision would pay for it; readers
// follow the tail, so the search goes backwards, or along the operation's own
// events.
func (l *Ledger) placeOfEvent(ctx context.Context, query deed.EventQuery) (at refusal, err error) {
	at = refusal{placed: -1 << 63}
	if query.After == "" {
		return at, nil
	}
	w := where{}
	w.add(`tenant = ?`, indexedText(string(query.Tenant)))
	w.add(`id = ?`, indexedText(string(query.After)))
	if query.Operation != "" {
		w.add(`operation = ?`, indexedText(string(query.Operation)))
	}
	there := false
	err = l.read(ctx, []step{{
		sql:  `SELECT placed, writer, place FROM deed_events WHERE ` + w.text() + ` ORDER BY placed DESC, writer DESC, place DESC LIMIT 1`,
		args: w.args,
		read: func(rows pgx.Rows) error {
			there = true
			return rows.Scan(&at.placed, &at.writer, &at.place)
		},
	}})
	if err != nil {
		return at, l.explain(doingRead, err)
	}
	if !there {
		return at, fmt.Errorf("event %s, after which to go on: %w", query.After, deed.ErrNotFound)
	}
	return at, nil
}

// where collects the conditions of a query.
type where struct {
	conditions []string
	args       []any
}

// add takes a condition with a ? for each of its values.
func (w *where) add(condition string, args ...any) {
	for _, arg := range args {
		w.args = append(w.args, arg)
		condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(w.args)), 1)
	}
	w.conditions = append(w.conditions, condition)
}

func (w *where) text() string { return strings.Join(w.conditions, ` AND `) }
