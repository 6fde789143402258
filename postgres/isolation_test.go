// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/deed-run/deed/postgres"
)

// Gateways that start together make the tables once.
func TestManyMigrateAtOnceWhateverTheDefaultIsolationIs(t *testing.T) {
	for _, isolation := range []string{"read committed", "repeatable read", "serializable"} {
		t.Run(isolation, func(t *testing.T) {
			database := cluster.Database(t)
			if err := cluster.Exec("postgres", fmt.Sprintf("ALTER DATABASE %s SET default_transaction_isolation = '%s'", database, isolation)); err != nil {
				t.Fatal(err)
			}
			errs := make(chan error)
			for range 8 {
				go func() {
					ledger, err := postgres.Open(t.Context(), cluster.Address(database), postgres.Options{Patience: time.Minute, Listen: postgres.NoListen})
					if err == nil {
						err = ledger.Close()
					}
					errs <- err
				}()
			}
			for range 8 {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A default that forbids writing is for what people do by hand.
func TestTheTablesAreMadeWhereTransactionsOnlyReadByDefault(t *testing.T) {
	database := cluster.Database(t)
	if err := cluster.Exec("postgres", fmt.Sprintf("ALTER DATABASE %s SET default_transaction_read_only = on", database)); err != nil {
		t.Fatal(err)
	}
	ledger, err := postgres.Open(t.Context(), cluster.Address(database), postgres.Options{Listen: postgres.NoListen})
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.Close(); err != nil {
		t.Error(err)
	}
}
