// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// newestVersion is the schema that this program writes.
const newestVersion = 2

// migrationLock is the advisory lock under which a schema is changed; it is
// "deed" in ASCII.
const migrationLock = 0x64656564

// migrations returns the texts in the order of their numbers, which start at
// one and have no gaps.
func migrations() ([]string, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(names))
	for i, name := range names {
		if want := fmt.Sprintf("migrations/%04d_", i+1); len(name) < len(want) || name[:len(want)] != want {
			return nil, fmt.Errorf("migration %s is not number %d", name, i+1)
		}
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		texts[i] = string(text)
	}
	return texts, nil
}

// migrate brings the ledger to the newest version, in one transaction under
// an advisory lock that ends with it. Processes that start together wait for
// the first. A ledger that is newer is left alone; whether it may be read is
// its own word.
func migrate(ctx context.Context, config *pgx.ConnConfig, database string) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return &OpenError{Database: database, Problem: "it cannot be opened", Remedy: remedy(err), Err: err}
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing)
		<-conn.PgConn().CleanupDone()
	}()
	version, oldest, err := readVersions(ctx, conn)
	if err == nil && version < newestVersion {
		version, oldest, err = migrateLocked(ctx, conn)
	}
	var already *OpenError
	switch {
	case errors.As(err, &already):
		already.Database = database
		return already
	case err != nil:
		return &OpenError{Database: database, Problem: "its tables cannot be read or made", Remedy: remedy(err), Err: err}
	case oldest > newestVersion:
		return &OpenError{
			Database: database, Problem: fmt.Sprintf("it is of version %d, and this program reads up to %d", version, newestVersion),
			Remedy: "use the newer version of this program", Err: deed.ErrLedgerVersion,
		}
	}
	return nil
}

// querier is a connection or a transaction on it.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// readVersions returns 0 when there is no ledger yet. It looks into the catalog
// itself: to_regclass answers from a cache that a transaction which waited for
// another's migration still has from before.
func readVersions(ctx context.Context, from querier) (version, oldest int64, err error) {
	var there bool
	if err := from.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'deed_ledger' AND pg_table_is_visible(oid))`).Scan(&there); err != nil || !there {
		return 0, 0, err
	}
	err = from.QueryRow(ctx, `SELECT version, min_reader FROM deed_ledger`).Scan(&version, &oldest)
	return version, oldest, err
}

func migrateLocked(ctx context.Context, conn *pgx.Conn) (version, oldest int64, err error) {
	texts, err := migrations()
	if err != nil {
		return 0, 0, err
	}
	// What a transaction sees that waited for another's migration is that one's work
	// only in this isolation, whatever the database's default is.
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite})
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
		return 0, 0, err
	}
	version, _, err = readVersions(ctx, tx)
	if err != nil {
		return 0, 0, err
	}
	if version > 0 && version < newestVersion {
		// Transactions that write hold this lock, shared, to their end.
		if _, err := tx.Exec(ctx, `LOCK TABLE deed_ledger IN ACCESS EXCLUSIVE MODE`); err != nil {
			return 0, 0, err
		}
	}
	for i := version; i < int64(len(texts)); i++ {
		if _, err := tx.Conn().PgConn().Exec(ctx, texts[i]).ReadAll(); err != nil {
			return 0, 0, fmt.Errorf("migration %d: %w", i+1, err)
		}
	}
	version, oldest, err = readVersions(ctx, tx)
	if err != nil {
		return 0, 0, err
	}
	return version, oldest, tx.Commit(ctx)
}
