// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// raw opens the file beside the ledger, as another program would.
func raw(t *testing.T, path string) *sqlite3.Conn {
	t.Helper()
	conn, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func execute(t *testing.T, conn *sqlite3.Conn, text string) {
	t.Helper()
	if err := conn.Exec(text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// query returns the rows of a query, their columns joined by "|".
func query(conn *sqlite3.Conn, text string) ([]string, error) {
	s, _, err := conn.Prepare(text)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var all []string
	for s.Step() {
		var columns []string
		for i := range s.ColumnCount() {
			columns = append(columns, s.ColumnText(i))
		}
		all = append(all, strings.Join(columns, "|"))
	}
	return all, s.Err()
}

func rows(t *testing.T, conn *sqlite3.Conn, text string) []string {
	t.Helper()
	all, err := query(conn, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return all
}

func checkIntegrity(t *testing.T, path string) {
	t.Helper()
	conn := raw(t, path)
	defer conn.Close()
	for _, check := range []string{"PRAGMA integrity_check", "PRAGMA foreign_key_check"} {
		if got := strings.Join(rows(t, conn, check), "\n"); got != "ok" && got != "" {
			t.Errorf("%s: %s", check, got)
		}
	}
}
