// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed/postgres"
)

// The database is asked in another way: by what is in it.
func TestTheSizeIsThatOfAllTables(t *testing.T) {
	database := cluster.Database(t)
	ledger := open(t, cluster.Address(database), postgres.Options{Listen: postgres.NoListen})
	conn, err := pgx.Connect(t.Context(), cluster.Address(database))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	before := int64(0)
	for n := range int64(2) {
		for i := range 200 * n {
			if err := begin(t.Context(), ledger, i); err != nil {
				t.Fatal(err)
			}
		}
		// The database may write some more of its own beside it.
		least := tables(t, conn)
		size, err := ledger.Size(t.Context())
		if most := tables(t, conn); err != nil || size < least || size > most || size <= before {
			t.Errorf("%d bytes, %v; the tables have %d to %d, and %d before", size, err, least, most, before)
		}
		before = size
	}
}

func tables(t *testing.T, conn *pgx.Conn) (bytes int64) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), `SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relname LIKE 'deed\_%' AND relkind IN ('r', 'p')`).Scan(&bytes); err != nil {
		t.Fatal(err)
	}
	return bytes
}
