// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"
)

// dump returns every row of every table that belongs to operations, without
// the numbers of events: the floor writes those of a group together.
func dump(t *testing.T, path string) map[string][]recordedRow {
	t.Helper()
	db, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	tables, err := readShape(db)
	if err != nil {
		t.Fatal(err)
	}
	all, err := readRecorded(db, "")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]recordedRow{}
	for i, table := range tables {
		for _, call := range all {
			for _, r := range call.rows[i] {
				named := recordedRow{}
				for at, column := range table.columns {
					if i > 0 && column == "seq" {
						continue
					}
					named[column] = r[at]
				}
				rows[table.name] = append(rows[table.name], named)
			}
		}
	}
	return rows
}

type recordedRow map[string]value

func TestTheFloorLeavesTheRowsOfTheRealPath(t *testing.T) {
	for _, group := range []int{1, 4} {
		ctx, dir := t.Context(), t.TempDir()
		p, err := learn(ctx, filepath.Join(dir, "pattern.db"))
		if err != nil {
			t.Fatal(err)
		}
		source := filepath.Join(dir, "real.db")
		g, err := openGuarded(ctx, source)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 10 {
			if err := g.operate(ctx, "test", n); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.close(ctx); err != nil {
			t.Fatal(err)
		}
		f, err := openFloor(ctx, filepath.Join(dir, "floor.db"), source, p)
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.run(ctx, group, 0, 8)
		if err != nil {
			t.Fatal(err)
		}
		rest, err := f.run(ctx, group, 8, 10)
		if err != nil {
			t.Fatal(err)
		}
		s.add(rest)
		if err := f.close(); err != nil {
			t.Fatal(err)
		}
		if len(s.latencies) != 10 {
			t.Errorf("groups of %d: %d latencies, want 10", group, len(s.latencies))
		}
		want := dump(t, source)
		if len(want["events"]) != 30 {
			t.Errorf("the real path left %d events, want 30", len(want["events"]))
		}
		if diff := cmp.Diff(want, dump(t, filepath.Join(dir, "floor.db"))); diff != "" {
			t.Errorf("groups of %d (-real +floor):\n%s", group, diff)
		}
	}
}
