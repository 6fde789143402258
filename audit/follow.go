// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deed-run/deed"
)

// Ledger is what a log is about: a [deed.Store].
type Ledger interface {
	Events(ctx context.Context, query deed.EventQuery) ([]deed.Event, error)
	Load(ctx context.Context, scope deed.Scope) (deed.View, error)
}

// Follower appends to a log what a ledger has recorded of a tenant.
type Follower struct {
	Ledger Ledger
	Tenant deed.Tenant
	// Dir is the folder of the log, Key its private key.
	Dir, Key string
	// Trail leaves out what is younger. Several gateways on PostgreSQL commit
	// events that are placed before others which are readable already; a trail
	// longer than any of their transactions misses none of those.
	Trail time.Duration
	// Clock is the ledger's by default, which the times of events are of: a machine
	// whose own is ahead of it would leave out nothing.
	Clock deed.Clock
}

// page is how many events are read, and appended, at once.
const page = 1000

// Append logs what has been recorded since the newest record of the log, and
// returns how many records that were, and the checkpoint then. It fails with
// [ErrBusy] while another process appends, and with [deed.ErrNotFound] on a
// ledger that does not know the log's newest record: of those events that are
// logged already none is asked for again. What was appended before a failure
// stays.
func (f Follower) Append(ctx context.Context) (appended int64, at Checkpoint, err error) {
	a, err := openAppender(f.Dir, f.Key)
	if err != nil {
		return 0, Checkpoint{}, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	from := a.at.Size
	err = f.appendTo(ctx, a)
	return a.at.Size - from, a.at, err
}

func (f Follower) appendTo(ctx context.Context, a *appender) error {
	query := deed.EventQuery{Tenant: f.Tenant, Limit: page}
	last, err := a.last(a.at)
	if err != nil {
		return a.failed(err)
	}
	if last != nil {
		newest, err := readRecord(last)
		if err != nil {
			return a.failed(err)
		}
		if newest.Tenant != f.Tenant {
			return fmt.Errorf("the log %s is about the tenant %q, not %q; nothing was appended; each tenant has a log of its own", a.dir, newest.Tenant, f.Tenant)
		}
		query.After = newest.Event
	}
	for {
		seen := receipts{ledger: f.Ledger} // what was read before these events may lack what they did
		events, err := f.Ledger.Events(ctx, query)
		if errors.Is(err, deed.ErrNotFound) {
			return fmt.Errorf("the ledger does not know the newest event of the log %s: %w; nothing was appended; it is another ledger, an older copy, or the event was taken out: see deed audit verify", a.dir, err)
		}
		if err != nil {
			return err
		}
		settled, err := f.settled(ctx, events)
		if err != nil {
			return err
		}
		records := make([][]byte, len(settled))
		for i, e := range settled {
			held, err := seen.of(ctx, e)
			if err != nil {
				return err
			}
			if records[i], err = recordOf(e, held.receipts); err != nil {
				return err
			}
		}
		if err := a.append(records); err != nil {
			return err
		}
		if len(settled) < page {
			return nil
		}
		query.After = events[len(events)-1].ID
	}
}

// settled cuts events off from the first that is younger than the trail.
func (f Follower) settled(ctx context.Context, events []deed.Event) ([]deed.Event, error) {
	if f.Trail <= 0 || len(events) == 0 {
		return events, nil
	}
	now, err := f.now(ctx)
	if err != nil {
		return nil, err
	}
	until := now.Add(-f.Trail)
	for i, e := range events {
		if e.At.After(until) {
			return events[:i], nil
		}
	}
	return events, nil
}

func (f Follower) now(ctx context.Context) (time.Time, error) {
	if f.Clock != nil {
		return f.Clock.Now(), nil
	}
	view, err := f.Ledger.Load(ctx, deed.Scope{Tenant: f.Tenant})
	return view.Now, err
}

// receipts remembers those of the operations that were read last: the events of
// one are near each other.
type receipts struct {
	ledger Ledger
	known  map[deed.OperationID]holding
}

// holding are the receipts of an operation at a version of it.
type holding struct {
	receipts []deed.Receipt
	version  int64
}

// remembered bounds the operations of which receipts are kept in memory.
const remembered = 4096

// of returns the receipts of the event's operation, none where the ledger does
// not have it.
func (r *receipts) of(ctx context.Context, e deed.Event) (holding, error) {
	if e.OperationID == "" {
		return holding{}, nil
	}
	if held, there := r.known[e.OperationID]; there {
		return held, nil
	}
	view, err := r.ledger.Load(ctx, deed.Scope{Tenant: e.Tenant, ID: e.OperationID})
	if err != nil {
		return holding{}, err
	}
	var held holding
	if op := view.Operation; op != nil {
		held = holding{op.Receipts, op.Version}
	}
	if r.known == nil || len(r.known) >= remembered {
		r.known = map[deed.OperationID]holding{}
	}
	r.known[e.OperationID] = held
	return held, nil
}
