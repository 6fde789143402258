// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"embed"
	"fmt"
	"io/fs"

	"github.com/deed-run/deed"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

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

// newestVersion is the schema that this program writes.
func newestVersion() int64 { return 2 }

// migrate brings the ledger to the newest version. Two processes may try at
// once: the version is read again under the lock. A ledger that is newer is
// left alone; whether it may be read is its own word.
func migrate(conn *connection) error {
	version, err := conn.pragma("user_version")
	if err != nil {
		return err
	}
	if version > newestVersion() {
		return mayRead(conn, version)
	}
	if version == newestVersion() {
		return nil
	}
	if err := conn.use(stmtBegin).run(); err != nil {
		return err
	}
	if err := migrateLocked(conn); err != nil {
		_ = conn.use(stmtRollback).run() // what failed may have ended the transaction
		return err
	}
	return conn.use(stmtCommit).run()
}

func migrateLocked(conn *connection) error {
	version, err := conn.pragma("user_version")
	if err != nil {
		return err
	}
	if version > newestVersion() {
		return mayRead(conn, version)
	}
	texts, err := migrations()
	if err != nil {
		return err
	}
	for i := version; i < int64(len(texts)); i++ {
		if err := conn.Exec(texts[i]); err != nil {
			return fmt.Errorf("migration %d: %w", i+1, err)
		}
	}
	return conn.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(texts)))
}

// mayRead reports whether a ledger of a newer version can be read by this
// program.
func mayRead(conn *connection, version int64) error {
	oldest, err := conn.number("SELECT min_reader FROM ledger")
	if err == nil && oldest <= newestVersion() {
		return nil
	}
	return &OpenError{
		Problem: fmt.Sprintf("it is of version %d, and this program reads up to %d", version, newestVersion()),
		Remedy:  "use the newer version of this program", Err: deed.ErrLedgerVersion,
	}
}

// versionError refuses a write on a ledger of another version.
func versionError(version int64) error {
	return fmt.Errorf("%w (%d, and this program writes %d); nothing was written; use the newer version of this program", deed.ErrLedgerVersion, version, newestVersion())
}
