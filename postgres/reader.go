// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
)

// read sends the steps in one round trip on a connection that reads. One that
// turns out to be broken is replaced, with all that are idle: a server that
// restarted, or that ended the sessions, broke them all.
func (l *Ledger) read(ctx context.Context, steps []step) error {
	for try := 1; ; try++ {
		began, err := l.readOnce(ctx, steps)
		if err == nil || began || try == tries || !passing(err) || ctx.Err() != nil || l.isClosed() {
			return err
		}
		if severed(err) {
			l.readers.Reset()
		}
	}
}

// readOnce also says whether the first row came, after which the steps cannot
// be read anew.
func (l *Ledger) readOnce(ctx context.Context, steps []step) (began bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if l.isClosed() {
		return false, closedError()
	}
	batch := &pgx.Batch{}
	for i := range steps {
		batch.Queue(steps[i].text(), steps[i].args...)
	}
	results := l.readers.SendBatch(ctx, batch)
	var failed error
	for _, s := range steps {
		if read := s.read; read != nil {
			s.read = func(rows pgx.Rows) error {
				began = true
				return read(rows)
			}
		}
		if failed = s.finish(results); failed != nil {
			break
		}
	}
	if err := results.Close(); err != nil && failed == nil {
		failed = err
	}
	if failed != nil && ctx.Err() != nil {
		return began, ctx.Err()
	}
	return began, failed
}

// Load implements deed.Store. It never waits for a writer. Loads of a tenant
// that come at the same time share a round trip.
func (l *Ledger) Load(ctx context.Context, scope deed.Scope) (deed.View, error) {
	if shares(&scope) {
		view, done, err := l.loading.do(ctx, scope)
		if done {
			return view, l.explain(doingRead, err)
		}
	}
	return l.loadAlone(ctx, scope)
}

// loadAlone loads in a round trip of its own.
func (l *Ledger) loadAlone(ctx context.Context, scope deed.Scope) (deed.View, error) {
	reading := reading{tenant: scope.Tenant, requests: []*request{newRequest(scope)}}
	if l.options.Clock != nil {
		at := ledgerTime(l.options.Clock.Now())
		reading.at = &at
	}
	var clock clock
	steps := reading.steps(false)
	alone := len(steps) <= 1
	steps = append(steps, clock.step())
	if !alone {
		// One statement has a snapshot of its own; several get one together.
		steps = append([]step{{sql: `begin isolation level repeatable read read only`}}, append(steps, step{sql: `commit`})...)
	}
	if err := l.read(ctx, steps); err != nil {
		return deed.View{}, l.explain(doingRead, err)
	}
	if err := clock.readable(); err != nil {
		return deed.View{}, err
	}
	reading.finish()
	view := reading.requests[0].view
	view.Now = l.now(clock.us)
	return view, nil
}

// now is the ledger's time, where the database's clock said us.
func (l *Ledger) now(us int64) time.Time {
	if l.options.Clock != nil {
		return ledgerTime(l.options.Clock.Now())
	}
	return fromMicros(us)
}
