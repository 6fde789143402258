// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// lockLedger takes the ledger away until the returned function is called: its
// write lock is held, as a backup or another program may, or its server lets
// nobody in.
func (w *world) lockLedger() (unlock func()) {
	w.Helper()
	giveBack := w.shutOut
	if w.database == "" {
		giveBack = w.holdLock
	}
	release, locked := giveBack(), true
	unlock = func() {
		if locked {
			locked = false
			release()
		}
	}
	w.Cleanup(unlock)
	return unlock
}

func (w *world) holdLock() func() {
	w.Helper()
	conn, err := sqlite3.OpenFlags(w.ledger, sqlite3.OPEN_READWRITE)
	w.must(err)
	// The gateway may be writing at this moment.
	w.must(conn.BusyTimeout(patience))
	w.must(conn.Exec("BEGIN IMMEDIATE"))
	return func() {
		_ = conn.Exec("ROLLBACK")
		_ = conn.Close()
	}
}

func (w *world) shutOut() func() {
	w.Helper()
	allow := func(yes bool) error {
		return cluster.Exec(context.Background(), "postgres", fmt.Sprintf("ALTER DATABASE %s ALLOW_CONNECTIONS %t", w.database, yes))
	}
	w.must(allow(false))
	w.must(cluster.Exec(context.Background(), "postgres", fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s'", w.database)))
	return func() { _ = allow(true) }
}
