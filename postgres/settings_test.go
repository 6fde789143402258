// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed/postgres"
)

// Every caller of a gateway that has just started puts the same rules in force.
func TestASettingThatStaysIsNotWritten(t *testing.T) {
	address := cluster.Address(cluster.Database(t))
	ledger := open(t, address, postgres.Options{})
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	// The transaction that wrote the row.
	set := func(value string) (writer string) {
		t.Helper()
		got, err := ledger.Setting(t.Context(), "active/tool", func([]byte) []byte { return []byte(value) })
		if err != nil || string(got) != value {
			t.Fatalf("Setting: %q, %v", got, err)
		}
		if err := conn.QueryRow(t.Context(), `SELECT xmin::text FROM deed_settings WHERE name = 'active/tool'`).Scan(&writer); err != nil {
			t.Fatal(err)
		}
		return writer
	}
	first := set("rules")
	if again := set("rules"); again != first {
		t.Errorf("what stays was written again, by %s after %s", again, first)
	}
	if other := set("other rules"); other == first {
		t.Error("what changed was not written")
	}
}
