// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

func TestALedgerOfTheFirstVersionIsBroughtUpWithWhatItHas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	makeLedger(t, path)
	conn := raw(t, path)
	execute(t, conn, "DROP TABLE bookings; DROP TABLE consents; PRAGMA user_version = 1")
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	ledger := openAt(t, path, sqlite.Options{})
	op := newBenchOperation(1)
	view, err := ledger.Load(t.Context(), deed.Scope{
		Tenant: benchTenant, ID: op.id(), Consent: "jws-1", Budgets: []deed.BudgetQuery{{Budget: deed.Budget{Name: "refunds"}}},
	})
	if err != nil || view.Operation == nil || len(view.Budgets) != 1 || view.ConsentBy != "" {
		t.Fatalf("Load = %+v, %v", view, err)
	}
	got := rows(t, raw(t, path), "SELECT min_reader FROM ledger UNION ALL SELECT user_version FROM pragma_user_version")
	if want := fmt.Sprint([]string{"1", fmt.Sprint(sqlite.NewestVersion())}); fmt.Sprint(got) != want {
		t.Errorf("oldest reader and version are %v, want %v", got, want)
	}
}
