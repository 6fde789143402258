// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"hash/maphash"
	"slices"

	"github.com/deed-run/deed"
)

// idSet remembers the events of all records by hashes, of which equal ones only
// tell where to look again.
type idSet struct {
	seed   maphash.Seed
	hashes []uint64
}

func (s *idSet) hash(id deed.EventID) uint64 { return maphash.String(s.seed, string(id)) }

func (s *idSet) add(id deed.EventID) { s.hashes = append(s.hashes, s.hash(id)) }

// sort makes has possible, and returns the hashes that are there more than once.
func (s *idSet) sort() (repeated map[uint64]bool) {
	slices.Sort(s.hashes)
	repeated = map[uint64]bool{}
	for i := 1; i < len(s.hashes); i++ {
		if s.hashes[i] == s.hashes[i-1] {
			repeated[s.hashes[i]] = true
		}
	}
	return repeated
}

// has reports whether the event may be in the log.
func (s *idSet) has(id deed.EventID) bool {
	_, found := slices.BinarySearch(s.hashes, s.hash(id))
	return found
}

// repeats reads the log once more where an event may be in it twice, or where the
// ledger has one again that has met its record.
func (c *comparison) repeats(ctx context.Context, l *Log, at Checkpoint, repeated map[uint64]bool) error {
	again := map[deed.EventID]bool{}
	for id := range c.events {
		if c.ids.has(id) {
			again[id] = true
		}
	}
	if len(repeated) == 0 && len(again) == 0 {
		return nil
	}
	first := map[deed.EventID]bool{}
	return l.each(ctx, at, func(n int64, record []byte) error {
		r, err := readRecord(record)
		if err != nil {
			return err
		}
		switch {
		case again[r.Event]:
			delete(again, r.Event)
			delete(c.events, r.Event)
			c.report.add(Finding{EventRepeated, n, r.Event, r.Operation})
		case !repeated[c.ids.hash(r.Event)]:
		case first[r.Event]:
			delete(c.records, r.Event)
			c.report.add(Finding{EventRepeated, n, r.Event, r.Operation})
		default:
			first[r.Event] = true
		}
		return nil
	})
}

// eventReader reads the events of a ledger one by one.
type eventReader struct {
	ledger Ledger
	query  deed.EventQuery
	read   []deed.Event
	ended  bool
	place  int64
}

// next returns the next event and its place among all, which is negative after
// the last.
func (r *eventReader) next(ctx context.Context) (deed.Event, int64, error) {
	if len(r.read) == 0 && !r.ended {
		events, err := r.ledger.Events(ctx, r.query)
		if err != nil {
			return deed.Event{}, -1, err
		}
		r.read = events
		if r.ended = len(events) < page; !r.ended {
			r.query.After = events[len(events)-1].ID
		}
	}
	if len(r.read) == 0 {
		return deed.Event{}, -1, nil
	}
	event := r.read[0]
	r.read = r.read[1:]
	r.place++
	return event, r.place - 1, nil
}
