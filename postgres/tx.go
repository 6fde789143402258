// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
)

// InTx is the ledger seen from inside a transaction of the caller's, for
// [deed.DoTx]. The transaction has to be on the ledger's own database, with the
// ledger's tables in its search path, and at READ COMMITTED; it must not be
// used by anybody else meanwhile.
//
// The transaction's settings are left as they were, except that its commit
// waits for the disk even where the default is synchronous_commit=off. A wait
// for the locks of others ends after four fifths of Options.Patience.
func (l *Ledger) InTx(tx pgx.Tx) deed.TxStore {
	return &insideTx{ledger: l, tx: tx}
}

type insideTx struct {
	ledger *Ledger
	tx     pgx.Tx
	tenant deed.Tenant
	// put is what has moved, for those who wait for it.
	put []*deed.Operation
}

// The settings of a write transaction that are not the caller's, see
// sqlSettings.
const (
	sqlKeepSettings = `SELECT current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout'),
		current_setting('plan_cache_mode'), current_setting('enable_seqscan'), current_setting('enable_hashjoin'),
		current_setting('enable_mergejoin'), current_setting('jit'), current_setting('transaction_isolation')`
	sqlBackSettings = `SELECT set_config('lock_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $2, true),
		set_config('plan_cache_mode', $3, true), set_config('enable_seqscan', $4, true), set_config('enable_hashjoin', $5, true),
		set_config('enable_mergejoin', $6, true), set_config('jit', $7, true)`
)

// Transact implements deed.TxStore.
func (t *insideTx) Transact(ctx context.Context, scope deed.Scope, change func(deed.View) (deed.Change, error)) (deed.View, error) {
	for try := 1; ; try++ {
		j := &job{tenant: scope.Tenant, scope: scope, change: change}
		err := t.attempt(ctx, j)
		var own changeError
		var refused *refusedError
		switch {
		case j.panicked != nil:
			panic(j.panicked)
		case err == nil:
			t.tenant, t.put = scope.Tenant, append(t.put, j.put...)
			return j.view, nil
		case errors.As(err, &own):
			return j.view, own.error
		case errors.As(err, &refused) && refused.raced() && try < tries:
			continue
		}
		return deed.View{}, t.ledger.explain(doingWrite, err)
	}
}

// attempt runs a job in a savepoint, which is undone with its locks when
// anything fails.
func (t *insideTx) attempt(ctx context.Context, j *job) error {
	savepoint, err := t.tx.Begin(ctx)
	if err != nil {
		return err
	}
	err = t.write(ctx, savepoint, j)
	if err != nil {
		return errors.Join(sorted(err), savepoint.Rollback(context.WithoutCancel(ctx)))
	}
	return savepoint.Commit(ctx)
}

func (t *insideTx) write(ctx context.Context, tx pgx.Tx, j *job) error {
	b := newBatch([]*job{j}, randomNumber(), t.ledger.options.Patience)
	if clock := t.ledger.options.Clock; clock != nil {
		at := ledgerTime(clock.Now())
		b.read.at = &at
	}
	kept := make([]string, 7)
	var isolation string
	opening := b.opening()
	opening[0] = step{sql: sqlKeepSettings, read: func(rows pgx.Rows) error {
		var places []any
		for i := range kept {
			places = append(places, &kept[i])
		}
		return rows.Scan(append(places, &isolation)...)
	}}
	if err := runSteps(ctx, tx, opening); err != nil {
		return err
	}
	if b.version != newestVersion {
		return versionError(b.version)
	}
	if isolation != "read committed" {
		return &refusedError{fmt.Errorf("the transaction is at %s, where it does not see what others wrote while it waited for them; nothing was written; begin it at READ COMMITTED", isolation)}
	}
	if clock := t.ledger.options.Clock; clock != nil {
		b.now = ledgerTime(clock.Now())
	}
	b.decide()
	if j.err != nil {
		return j.err
	}
	for _, id := range strangers(b.read.requests[0], j.wanted) {
		var there bool
		err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM deed_operations WHERE tenant = $1 AND id = $2)`, indexedText(string(b.tenant)), id).Scan(&there)
		if err != nil {
			return err
		}
		if !there {
			return &refusedError{fmt.Errorf("a key cannot name an operation: %w; nothing was written", deed.ErrNotFound)}
		}
	}
	closing, err := b.closing()
	if err != nil {
		return &refusedError{err}
	}
	if len(closing) > 0 {
		closing = closing[:len(closing)-1] // all but the COMMIT
	}
	args := make([]any, len(kept))
	for i := range kept {
		args[i] = kept[i]
	}
	return runSteps(ctx, tx, append(closing, step{sql: sqlBackSettings, args: args}))
}

// runSteps sends steps in one round trip of a transaction.
func runSteps(ctx context.Context, tx pgx.Tx, steps []step) error {
	batch := &pgx.Batch{}
	for i := range steps {
		batch.Queue(steps[i].text(), steps[i].args...)
	}
	results := tx.SendBatch(ctx, batch)
	var failed error
	for i := range steps {
		if err := steps[i].finish(results); err != nil {
			failed = &stepError{i, steps[i].sql, err}
			break
		}
	}
	if err := results.Close(); err != nil && failed == nil {
		failed = err
	}
	return failed
}

// Commit implements deed.TxStore.
func (t *insideTx) Commit(ctx context.Context) error {
	conn := t.tx.Conn()
	err := t.tx.Commit(ctx)
	switch {
	case err == nil:
		t.ledger.watches.moved(t.tenant, t.put)
		return nil
	case errors.Is(err, pgx.ErrTxCommitRollback), notCommitted(err) && !conn.IsClosed():
		return fmt.Errorf("committing to the ledger %s: %w: the transaction had failed; nothing was written: %w", t.ledger.database, deed.ErrUnavailable, err)
	}
	return fmt.Errorf("ledger %s: %w: %w", t.ledger.database, deed.ErrCommitUnknown, err)
}

// rollbackPatience bounds how long the end of a transaction waits for the
// server: a connection that is closed ends it too.
const rollbackPatience = 5 * time.Second

// Rollback implements deed.TxStore.
func (t *insideTx) Rollback(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rollbackPatience)
	defer cancel()
	if err := t.tx.Rollback(ctx); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
		return fmt.Errorf("rolling back: %w", err)
	}
	return nil
}
