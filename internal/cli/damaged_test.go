// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"errors"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// Of a damaged record nothing is shown or sent, and a person may still settle it.
func TestADamagedRecordIsStillSettled(t *testing.T) {
	s := seed(t)
	db, err := sqlite3.Open(s.ledger)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Exec(`UPDATE arguments SET bytes = CAST(replace(CAST(bytes AS TEXT), '12.5', '1250') AS BLOB)`)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	holds(t, s.deed("ops", "resolve", string(s.ids["lost"]), "--not-applied", "--reason", "the account shows none"), "is failed (decided by a person")
	holds(t, s.deed("ops", "cancel", string(s.ids["wire"]), "--reason", "the record is damaged"), "cancelled")
	holds(t, s.deed("stats"), "pay/charge  5")
}
