// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/deed-run/deed"
)

// Ledger is a [deed.Store] in a PostgreSQL database. It is safe for
// concurrent use.
type Ledger struct {
	database string
	options  Options
	readers  *pgxpool.Pool
	loading  *loading
	writers  *writers
	aside    *aside
	watches  *watches
	closing  chan struct{}
	once     sync.Once
	err      error
}

var _ deed.Store = (*Ledger)(nil)

// Open opens the ledger at a connection string of libpq's forms, such as
// postgres://user@host/database, and makes its tables, in the first schema of
// the search path, when there are none. The user needs to own them, or
// SELECT, INSERT and UPDATE on them once they are there.
//
// Through PgBouncer in transaction mode the connection string has to say
// default_query_exec_mode=exec, unless the pooler keeps prepared statements
// (1.21, max_prepared_statements); Options.Listen should name the database
// itself, or be NoListen. Nothing else outlives a transaction: settings are
// local to it, and no lock, cursor or temporary table is held between two.
//
// An *OpenError says what is in the way. It matches deed.ErrUnavailable, or
// deed.ErrLedgerVersion when the ledger was written by a version too new to
// be read; if it can still be read, Open succeeds and writes return
// deed.ErrLedgerVersion.
//
// Close the ledger to make batched events durable and stop its goroutines.
func Open(ctx context.Context, address string, options Options) (*Ledger, error) {
	options = options.withDefaults(address)
	pool, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, &OpenError{Database: "(unreadable)", Problem: "the connection string cannot be read", Remedy: "write it as postgres://user@host:5432/database", Err: err}
	}
	name(pool.ConnConfig, options.Application)
	database := fmt.Sprintf("%s on %s:%d", pool.ConnConfig.Database, pool.ConnConfig.Host, pool.ConnConfig.Port)
	opening, cancel := context.WithTimeout(ctx, 2*options.Patience)
	defer cancel()
	if err := migrate(opening, pool.ConnConfig, database); err != nil {
		return nil, err
	}
	pool.MaxConns = int32(options.Readers)
	readers, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), pool)
	if err != nil {
		return nil, &OpenError{Database: database, Problem: "it cannot be opened", Remedy: remedy(err), Err: err}
	}
	listen, err := listenConfig(options)
	if err != nil {
		readers.Close()
		return nil, &OpenError{Database: database, Problem: "Options.Listen cannot be read", Remedy: "write it as the connection string of the ledger", Err: err}
	}
	l := &Ledger{database: database, options: options, readers: readers, closing: make(chan struct{})}
	l.watches = newWatches(l, listen)
	l.loading = newLoading(l)
	l.aside = &aside{config: pool.ConnConfig, patience: options.Patience}
	l.writers = &writers{
		queue: newQueue(options.MaxBatch), config: pool.ConnConfig, patience: options.Patience, clock: options.Clock,
		tell: l.watches.moved,
	}
	l.writers.start(options.Writers)
	return l, nil
}

func name(config *pgx.ConnConfig, application string) {
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = application
	}
}

func randomNumber() int64 {
	var raw [8]byte
	_, _ = rand.Read(raw[:])
	return int64(binary.BigEndian.Uint64(raw[:]) >> 1)
}

// Close writes what is queued, waits for running calls and closes the
// connections. It returns an error if batched events could not be written.
// Calls that come later return deed.ErrClosed.
func (l *Ledger) Close() error {
	l.once.Do(func() {
		close(l.closing)
		l.err = errors.Join(l.writers.stop(), l.watches.close(), l.aside.close())
		l.loading.close()
		l.readers.Close()
	})
	return l.err
}

func (l *Ledger) isClosed() bool {
	select {
	case <-l.closing:
		return true
	default:
		return false
	}
}

// Transact implements deed.Store.
func (l *Ledger) Transact(ctx context.Context, scope deed.Scope, change func(deed.View) (deed.Change, error)) (deed.View, error) {
	j := &job{tenant: scope.Tenant, scope: scope, change: change}
	err := l.submit(ctx, j)
	var own changeError
	if errors.As(err, &own) {
		return j.view, own.error
	}
	if err != nil {
		return deed.View{}, err
	}
	return j.view, nil
}

// submit hands a job over and waits for its outcome.
func (l *Ledger) submit(ctx context.Context, j *job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.done = make(chan struct{})
	if err := l.writers.push(j); err != nil {
		return err
	}
	patience := l.options.Patience
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var why error
	select {
	case <-j.done:
		return l.outcome(j)
	case <-timer.C:
		why = fmt.Errorf("no turn to write within %s", patience)
	case <-ctx.Done():
		why = ctx.Err()
	}
	if j.taken.CompareAndSwap(jobWaiting, jobAbandoned) {
		return fmt.Errorf("ledger %s: %w: %w; nothing was written, try again", l.database, deed.ErrUnavailable, why)
	}
	// A transaction that has begun is never called off for a caller: its
	// outcome is worth waiting for.
	timer.Reset(2 * patience)
	select {
	case <-j.done:
		return l.outcome(j)
	case <-timer.C:
		return fmt.Errorf("ledger %s: %w: the database has not answered for %s", l.database, deed.ErrCommitUnknown, 2*patience)
	}
}

func (l *Ledger) outcome(j *job) error {
	if j.panicked != nil {
		panic(j.panicked)
	}
	return l.explain(doingWrite, j.err)
}

// Append implements deed.Store. Batched events wait in memory for the next
// commit of their tenant, at most 50 ms; a crash before it loses them. While
// the ledger cannot be written they are kept and tried again, up to a bound
// above which Append returns deed.ErrUnavailable.
func (l *Ledger) Append(ctx context.Context, events []deed.Event, durability deed.Durability) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, part := range byTenant(events) {
		j := &job{tenant: part[0].Tenant, events: part, batched: durability == deed.Batched}
		var err error
		if j.batched {
			err = l.writers.push(j)
		} else {
			err = l.submit(ctx, j)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// byTenant copies the events, those of each tenant in their order.
func byTenant(events []deed.Event) [][]deed.Event {
	var parts [][]deed.Event
	at := map[deed.Tenant]int{}
	for _, event := range events {
		if event.Data != nil {
			event.Data = append([]byte{}, event.Data...)
		}
		i, known := at[event.Tenant]
		if !known {
			i = len(parts)
			at[event.Tenant], parts = i, append(parts, nil)
		}
		parts[i] = append(parts[i], event)
	}
	return parts
}
