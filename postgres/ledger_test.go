// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
	"github.com/deed-run/deed/postgres/internal/pgtest"
	"github.com/deed-run/deed/storetest"
)

// cluster is the server of all tests of this package.
var cluster *pgtest.Cluster

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getenv(openedBy) != "" {
		return m.Run()
	}
	var err error
	if cluster, err = pgtest.Start(pgtest.Memory()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer cluster.Stop()
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// open opens a ledger that is closed with the test.
func open(t testing.TB, address string, options postgres.Options) *postgres.Ledger {
	t.Helper()
	ledger, err := postgres.Open(t.Context(), address, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ledger.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return ledger
}

func TestKeepsTheContractOfAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, clock deed.Clock) deed.Store {
		return open(t, cluster.Schema(t), postgres.Options{Clock: clock})
	})
}
