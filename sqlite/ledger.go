// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/deed-run/deed"
)

// Ledger is a [deed.Store] on one SQLite file. It is safe for concurrent use.
type Ledger struct {
	path    string
	clock   deed.Clock
	readers *readers
	writer  *writer
	watches *watches
	hot     *hot
	pages   pages
	closing chan struct{}
	once    sync.Once
	err     error
}

var _ deed.Store = (*Ledger)(nil)

// Open opens the ledger at path and creates it, readable by its owner only,
// when there is none. The folder must exist.
//
// An *OpenError says what is in the way: a folder or file that cannot be
// written, a damaged file, a file of another program. It matches
// deed.ErrUnavailable, or deed.ErrLedgerVersion when the ledger was written
// by a version too new to be read; if it can still be read, Open succeeds and
// writes return deed.ErrLedgerVersion.
//
// Close the ledger to make batched events durable and stop its goroutines.
func Open(ctx context.Context, path string, options Options) (*Ledger, error) {
	options = options.withDefaults()
	place := locate(path, options)
	first, err := place.prepare(ctx)
	if err != nil {
		return nil, err
	}
	l := &Ledger{
		path:    path,
		clock:   options.Clock,
		readers: newReaders(options.Readers, place.reader),
		closing: make(chan struct{}),
	}
	l.watches = newWatches(place.reader)
	l.hot = newHot(options.Memory)
	l.writer = newWriter(place, first, options.MaxBatch, l.watches, l.hot)
	return l, nil
}

// Path returns the file's path as it was given to Open.
func (l *Ledger) Path() string { return l.path }

// Close writes what is queued, waits for running calls and releases the file.
// It returns an error if batched events could not be written. Calls that come
// later return deed.ErrClosed.
func (l *Ledger) Close() error {
	l.once.Do(func() {
		close(l.closing)
		l.err = errors.Join(l.writer.close(), l.watches.close(), l.readers.close())
	})
	return l.err
}

func closedError() error { return fmt.Errorf("the ledger is %w", deed.ErrClosed) }

// Transact implements deed.Store.
func (l *Ledger) Transact(ctx context.Context, scope deed.Scope, change func(deed.View) (deed.Change, error)) (deed.View, error) {
	j := &job{}
	var view deed.View
	j.run = func(c *connection) error {
		work := loader{connection: c, scope: scope}
		if err := work.load(l.clock.Now()); err != nil {
			return err
		}
		view = work.view
		// The change gets its own slices: it may append to them.
		c.release()
		wanted, err := change(work.view)
		if err != nil {
			return changeError{err}
		}
		j.put = wanted.Put
		err = work.write(wanted)
		j.after = work.written(wanted.Put)
		j.delivered = deliveries(wanted.Events)
		c.touch(j)
		return err
	}
	err := l.submit(ctx, j)
	var own changeError
	if errors.As(err, &own) {
		return view, own.error
	}
	if err != nil {
		return deed.View{}, err
	}
	return view, nil
}

// changeError marks the error of a caller's function, which is returned as it
// is.
type changeError struct{ error }

func (e changeError) Unwrap() error { return e.error }

// transact runs do within a transaction of the writer.
func (l *Ledger) transact(ctx context.Context, do func(*connection) error) error {
	return l.submit(ctx, &job{run: do})
}

// Append implements deed.Store. Batched events wait in memory for the next
// commit, at most 50 ms; a crash before it loses them. While the ledger
// cannot be written they are kept and tried again, up to a bound above which
// Append waits for its own commit like any other write.
func (l *Ledger) Append(ctx context.Context, events []deed.Event, durability deed.Durability) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(events) == 0 {
		return nil
	}
	if durability == deed.Batched {
		events = copyEvents(events)
	}
	j := &job{delivered: deliveries(events)}
	j.run = func(c *connection) error {
		err := appendEvents(c, events)
		c.touch(j)
		return err
	}
	if durability == deed.Batched {
		err := l.enqueue(j, len(events))
		if !errors.Is(err, errCrowded) {
			return err
		}
		// Who writes faster than the disk waits for it.
		j.events = 0
	}
	return l.submit(ctx, j)
}

func copyEvents(events []deed.Event) []deed.Event {
	copies := append([]deed.Event(nil), events...)
	for i := range copies {
		if copies[i].Data != nil {
			copies[i].Data = append([]byte{}, copies[i].Data...)
		}
	}
	return copies
}
