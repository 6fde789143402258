// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
)

// The server ends every connection, as one that restarts does, and is there
// again: whoever only reads does not notice, however many there were.
func TestReadersOutliveTheirConnections(t *testing.T) {
	for _, readers := range []int{1, 8} {
		t.Run(strconv.Itoa(readers), func(t *testing.T) {
			database := cluster.Database(t)
			ledger := open(t, cluster.Address(database), postgres.Options{Readers: readers, Listen: postgres.NoListen})
			if err := begin(t.Context(), ledger, 1); err != nil {
				t.Fatal(err)
			}
			of := newBenchOperation(1)
			for n := range 5 {
				var group sync.WaitGroup
				for range 8 * readers {
					group.Go(func() {
						for range 20 {
							if _, err := ledger.List(t.Context(), deed.Query{Tenant: benchTenant}); err != nil {
								t.Error(err)
							}
						}
					})
				}
				group.Wait()
				if err := cluster.Exec("postgres", fmt.Sprintf(`SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '%s'`, database)); err != nil {
					t.Fatal(err)
				}
				page, err := ledger.List(t.Context(), deed.Query{Tenant: benchTenant})
				if err != nil || len(page.Operations) != 1 {
					t.Errorf("reading, turn %d: %v, %v", n+1, page.Operations, err)
				}
			}
			if err := settle(t.Context(), ledger, of); err != nil {
				t.Errorf("writing: %v", err)
			}
		})
	}
}
