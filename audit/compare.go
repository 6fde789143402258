// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"hash/maphash"
	"slices"

	"github.com/deed-run/deed"
)

// comparison reads a log and a ledger side by side, which have the same events in
// the same order, and remembers what the other one has not shown yet.
type comparison struct {
	report *Report
	ledger *eventReader
	held   receipts
	ids    idSet

	// records are those whose event the ledger has not shown, events those whose
	// record the log has not.
	records map[deed.EventID]entry
	events  map[deed.EventID]placed
	// newestRecord and newestEvent are the furthest places that have met in order,
	// lastMet the furthest event that has met its record.
	newestRecord, newestEvent, lastMet int64
	logEnded                           bool
}

// entry is what is remembered of a record.
type entry struct {
	number    int64
	sum       [sha256.Size]byte
	operation deed.OperationID
	receipts  int
	digest    deed.Digest
}

// placed is an event and its place among those of the ledger.
type placed struct {
	place int64
	event deed.Event
}

// newComparison compares with nothing where ledger is nil.
func newComparison(report *Report, ledger Ledger, tenant deed.Tenant) *comparison {
	c := &comparison{
		report: report, held: receipts{ledger: ledger}, ids: idSet{seed: maphash.MakeSeed()},
		records: map[deed.EventID]entry{}, events: map[deed.EventID]placed{}, newestRecord: -1, newestEvent: -1, lastMet: -1,
	}
	if ledger != nil {
		c.ledger = &eventReader{ledger: ledger, query: deed.EventQuery{Tenant: tenant, Limit: page}}
	}
	return c
}

// read takes the next record of the log, and one event of the ledger.
func (c *comparison) read(ctx context.Context, n int64, r Record, record []byte) error {
	c.ids.add(r.Event)
	if c.ledger == nil {
		return nil
	}
	c.ledger.query.Tenant = r.Tenant
	e := entry{number: n, sum: sha256.Sum256(record), operation: r.Operation, receipts: r.Receipts, digest: r.ReceiptsDigest}
	if p, waits := c.events[r.Event]; waits {
		delete(c.events, r.Event)
		if err := c.meet(ctx, p, e); err != nil {
			return err
		}
	} else {
		c.records[r.Event] = e
	}
	_, err := c.readEvent(ctx)
	return err
}

// readEvent takes the ledger's next event; false: there is none.
func (c *comparison) readEvent(ctx context.Context) (bool, error) {
	event, place, err := c.ledger.next(ctx)
	if err != nil || place < 0 {
		return false, err
	}
	e, logged := c.records[event.ID]
	switch {
	case logged:
		delete(c.records, event.ID)
		return true, c.meet(ctx, placed{place, event}, e)
	case c.logEnded && len(c.records) == 0 && !c.ids.has(event.ID):
		c.report.Waiting++
	default:
		if first, twice := c.events[event.ID]; twice {
			c.report.add(Finding{EventRepeated, -1, event.ID, event.OperationID})
			place = min(place, first.place)
		}
		c.events[event.ID] = placed{place, event}
	}
	return true, nil
}

// meet compares an event with its record.
func (c *comparison) meet(ctx context.Context, p placed, e entry) error {
	c.lastMet = max(c.lastMet, p.place)
	if p.place < c.newestEvent || e.number < c.newestRecord {
		c.report.add(Finding{EventMoved, e.number, p.event.ID, p.event.OperationID})
	} else {
		c.newestEvent, c.newestRecord = p.place, e.number
	}
	kind, err := e.differs(ctx, &c.held, p.event)
	if err == nil && kind != "" {
		c.report.add(Finding{kind, e.number, p.event.ID, p.event.OperationID})
	}
	return err
}

// end reads what the ledger has beyond the log, and says what is left over on
// either side.
func (c *comparison) end(ctx context.Context, l *Log, at Checkpoint) error {
	c.logEnded = true
	repeated := c.ids.sort()
	if c.ledger != nil {
		for more := true; more; {
			var err error
			if more, err = c.readEvent(ctx); err != nil {
				return err
			}
		}
	}
	if err := c.repeats(ctx, l, at, repeated); err != nil {
		return err
	}
	left := make([]placed, 0, len(c.events))
	for _, p := range c.events {
		left = append(left, p)
	}
	slices.SortFunc(left, func(a, b placed) int { return cmp.Compare(a.place, b.place) })
	for _, p := range left {
		if p.place > c.lastMet {
			c.report.Waiting++
			continue
		}
		c.report.add(Finding{EventUnlogged, -1, p.event.ID, p.event.OperationID})
	}
	var gone []Finding
	for id, e := range c.records {
		gone = append(gone, Finding{EventGone, e.number, id, e.operation})
	}
	slices.SortFunc(gone, func(a, b Finding) int { return cmp.Compare(a.Record, b.Record) })
	for _, f := range gone {
		c.report.add(f)
	}
	return nil
}

// differs compares an event of the ledger with its record.
func (k entry) differs(ctx context.Context, held *receipts, e deed.Event) (FindingKind, error) {
	now, err := held.of(ctx, e)
	if err != nil {
		return "", err
	}
	// Receipts are added together with an event: none without.
	if len(now.receipts) < k.receipts || len(now.receipts) > k.receipts && e.Version == now.version {
		return ReceiptsChanged, nil
	}
	first := now.receipts[:k.receipts]
	record, unfit := recordOf(e, first)
	if unfit == nil && sha256.Sum256(record) == k.sum {
		return "", nil
	}
	if is, err := digestOf(first); err != nil || is != k.digest {
		return ReceiptsChanged, err
	}
	return EventChanged, nil
}
