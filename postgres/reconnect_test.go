// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"fmt"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
)

// The server ends every connection, as one that restarts does, and is there
// again: whoever only reads does not notice.
func TestReadersOutliveTheirConnections(t *testing.T) {
	database := cluster.Database(t)
	ledger := open(t, cluster.Address(database), postgres.Options{Readers: 1, Listen: postgres.NoListen})
	if err := begin(t.Context(), ledger, 1); err != nil {
		t.Fatal(err)
	}
	of := newBenchOperation(1)
	for n := range 5 {
		if err := cluster.Exec("postgres", fmt.Sprintf(`SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '%s'`, database)); err != nil {
			t.Fatal(err)
		}
		view, err := ledger.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: of.id()})
		if err != nil || view.Operation == nil {
			t.Errorf("reading, turn %d: %v, %v", n+1, view.Operation, err)
		}
	}
	if err := settle(t.Context(), ledger, of); err != nil {
		t.Errorf("writing: %v", err)
	}
}
