// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
)

// Plans are made while the tables are empty, when every index looks as good as
// any other to the planner. One that is chosen wrongly is walked from end to
// end, which no small test would notice by its time.
func TestWhatGrowsIsLookedUpAndNeverWalked(t *testing.T) {
	const operations = 100
	database := cluster.Database(t)
	address := cluster.Address(database)
	ledger, err := postgres.Open(t.Context(), address, postgres.Options{Listen: postgres.NoListen})
	if err != nil {
		t.Fatal(err)
	}
	for n := range int64(operations) {
		o := newBenchOperation(n)
		if err := o.transactBoth(t.Context(), ledger); err != nil {
			t.Fatal(err)
		}
		delivered := o.settle.Events[0]
		delivered.ID, delivered.Name = "delivered-"+delivered.ID, deed.Delivered
		if err := ledger.Append(t.Context(), []deed.Event{delivered}, deed.Durable); err != nil {
			t.Fatal(err)
		}
		if err := replay(t.Context(), ledger, o.begin.Put[0].Key); err != nil {
			t.Fatal(err)
		}
	}
	// The server's processes hand in what they counted when they end.
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	awaitAlone(t, conn)
	// No two operations are alike: whatever an index of likenesses yields, it
	// yields to a look-up that has the id.
	reads := func(index string) (entries int64) {
		err := conn.QueryRow(t.Context(), `SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = $1`, index).Scan(&entries)
		if err != nil {
			t.Fatal(err)
		}
		return entries
	}
	for _, index := range []string{"deed_operations_fingerprint", "deed_operations_matter", "deed_operations_begun"} {
		if entries := reads(index); entries > 0 {
			t.Errorf("%s was walked to find operations by their ids: it yielded %d", index, entries)
		}
	}
	if entries := reads("deed_operations_pkey"); entries < 3*operations {
		t.Errorf("%d look-ups by id found an operation; each of %d is settled, delivered and replayed", entries, operations)
	}
	var walks int64
	err = conn.QueryRow(t.Context(), `SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname NOT IN ('deed_ledger', 'deed_settings')`).Scan(&walks)
	if err != nil || walks > 0 {
		t.Errorf("tables that grow were read from end to end, %d rows of them, %v", walks, err)
	}
}

// awaitAlone waits until the database has no other sessions.
func awaitAlone(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for others := 1; others > 0; {
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`).Scan(&others); err != nil {
			t.Fatal(err)
		}
	}
}
