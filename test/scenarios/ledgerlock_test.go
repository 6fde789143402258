// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"github.com/ncruces/go-sqlite3"
)

// lockLedger holds the ledger's write lock, as a backup or another program may,
// until the returned function is called.
func (w *world) lockLedger() (unlock func()) {
	w.Helper()
	conn, err := sqlite3.OpenFlags(w.ledger, sqlite3.OPEN_READWRITE)
	w.must(err)
	// The gateway may be writing at this moment.
	w.must(conn.BusyTimeout(patience))
	w.must(conn.Exec("BEGIN IMMEDIATE"))
	locked := true
	unlock = func() {
		if !locked {
			return
		}
		locked = false
		_ = conn.Exec("ROLLBACK")
		_ = conn.Close()
	}
	w.Cleanup(unlock)
	return unlock
}
