// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/deed-run/deed"
)

// Events implements deed.Store. A limit of 0, or above 1000, is 1000.
func (l *Ledger) Events(ctx context.Context, query deed.EventQuery) ([]deed.Event, error) {
	var events []deed.Event
	err := l.read(ctx, func(c *connection) error {
		return c.snapshot(func() (err error) {
			events, err = l.readEvents(c, query)
			return err
		})
	})
	return events, err
}

func (l *Ledger) readEvents(c *connection, query deed.EventQuery) ([]deed.Event, error) {
	after, known := l.pages.place(query)
	if !known {
		var err error
		if after, err = placeOfEvent(c, query); err != nil {
			return nil, err
		}
	}
	limit := query.Limit
	if limit <= 0 || limit > maxLimit {
		limit = maxLimit
	}
	var text strings.Builder
	text.WriteString(`SELECT id, tenant, operation, version, at, name, actor, attempt, status_from, status_to,
		reason, tool, fingerprint, data, seq FROM events WHERE tenant=? AND seq>?`)
	if query.Operation != "" {
		// The constant term lets the planner use the partial index.
		text.WriteString(` AND operation=? AND operation <> ''`)
	}
	if query.Name != "" {
		text.WriteString(` AND name=?`)
	}
	text.WriteString(` ORDER BY seq LIMIT ?`)
	s, err := c.prepare(text.String())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	s.text(string(query.Tenant))
	s.integer(after)
	if query.Operation != "" {
		s.operationID(string(query.Operation))
	}
	if query.Name != "" {
		s.text(string(query.Name))
	}
	s.integer(int64(limit))
	var events []deed.Event
	var last int64
	for s.next() {
		events = append(events, readEvent(s))
		last = s.readInteger()
	}
	if len(events) == limit {
		l.pages.end(query.Tenant, events[limit-1].ID, last)
	}
	return events, s.end()
}

// pages remembers where the latest pages of events ended, so that a reader of
// all of them need not search for its place on each.
type pages struct {
	mu    sync.Mutex
	ends  [16]pageEnd
	count int
}

type pageEnd struct {
	tenant deed.Tenant
	id     deed.EventID
	seq    int64
}

func (p *pages) end(tenant deed.Tenant, id deed.EventID, seq int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ends[p.count%len(p.ends)] = pageEnd{tenant, id, seq}
	p.count++
}

func (p *pages) place(query deed.EventQuery) (int64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, end := range p.ends {
		if end.seq > 0 && end.tenant == query.Tenant && end.id == query.After {
			return end.seq, true
		}
	}
	return 0, false
}

func readEvent(s *statement) deed.Event {
	return deed.Event{
		ID:          deed.EventID(s.readID(eventPrefix)),
		Tenant:      deed.Tenant(s.readText()),
		OperationID: deed.OperationID(s.readID(operationPrefix)),
		Version:     s.readInteger(),
		At:          s.readMoment(),
		Name:        deed.EventName(s.readText()),
		Actor:       deed.Actor(s.readText()),
		Attempt:     int(s.readInteger()),
		From:        deed.Status(s.readText()),
		To:          deed.Status(s.readText()),
		Reason:      deed.Reason(s.readText()),
		Tool:        deed.Tool(s.readText()),
		Fingerprint: deed.Fingerprint(s.readDigest()),
		Data:        s.readBytes(),
	}
}

// placeOfEvent finds the event after which a listing goes on. Ids carry no
// index, for every decision would pay for it; readers follow the tail, so the
// search goes backwards, or along the operation's own events.
func placeOfEvent(c *connection, query deed.EventQuery) (int64, error) {
	if query.After == "" {
		return 0, nil
	}
	text := `SELECT seq FROM events WHERE tenant=? AND id=?`
	if query.Operation != "" {
		text += ` AND operation=? AND operation <> ''`
	}
	s, err := c.prepare(text + ` ORDER BY seq DESC LIMIT 1`)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	s.text(string(query.Tenant))
	s.eventID(string(query.After))
	if query.Operation != "" {
		s.operationID(string(query.Operation))
	}
	if s.next() {
		return s.readInteger(), s.end()
	}
	if err := s.end(); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("event %s, after which to go on: %w", query.After, deed.ErrNotFound)
}
