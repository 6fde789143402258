// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

func TestTheSchemaRefusesStatesThatCannotBe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	makeLedger(t, path)
	conn := raw(t, path)
	execute(t, conn, "DELETE FROM results; PRAGMA foreign_keys = OFF")
	for name, text := range map[string]string{
		"an unknown status":               `UPDATE operations SET status = 'done'`,
		"executing without a lease":       `UPDATE operations SET status = 'executing', standing = 0`,
		"a lease without executing":       `UPDATE operations SET lease_expires_at = 1`,
		"awaiting input without an end":   `UPDATE operations SET status = 'awaiting_input', standing = 0`,
		"an end of input while committed": `UPDATE operations SET input_expires_at = 1`,
		"committed and retryable":         `UPDATE operations SET retryable = 1`,
		"committed without a receipt":     `UPDATE operations SET receipts = 0`,
		"uncertain without an attempt":    `UPDATE operations SET status = 'uncertain', standing = 0, begun_at = NULL`,
		"settled without a time":          `UPDATE operations SET settled_at = NULL`,
		"a standing that is not its own":  `UPDATE operations SET standing = 2`,
		"a version before the first":      `UPDATE operations SET version = 0`,
		"a second operation of an id":     `UPDATE operations SET id = (SELECT id FROM operations ORDER BY seq LIMIT 1)`,
		"a second holder of a key":        `UPDATE keys SET text = 'x'`,
		"a changed receipt":               `UPDATE receipts SET remote_id = 'forged'`,
		"a removed receipt":               `DELETE FROM receipts`,
		"a changed event":                 `UPDATE events SET name = 'forged'`,
		"a removed event":                 `DELETE FROM events`,
		"a setting without a value":       `INSERT INTO settings (name, value) VALUES ('x', NULL)`,
		"text where a number belongs":     `UPDATE operations SET version = 'many'`,
	} {
		if err := conn.Exec(text); err == nil {
			t.Errorf("%s was let pass", name)
		}
	}
}

func TestStatementsReadAlongTheirIndexes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	makeLedger(t, path)
	conn := raw(t, path)
	for _, text := range sqlite.StatementTexts() {
		verb, _, _ := strings.Cut(text, " ")
		if verb != "SELECT" && verb != "UPDATE" && verb != "INSERT" && verb != "DELETE" {
			continue
		}
		for _, step := range rows(t, conn, "EXPLAIN QUERY PLAN "+text) {
			step = step[strings.LastIndex(step, "|")+1:]
			walks := strings.HasPrefix(step, "SCAN ") && step != "SCAN CONSTANT ROW" && step != "SCAN ledger"
			if walks || strings.Contains(step, "TEMP B-TREE") || strings.Contains(step, "AUTOMATIC") {
				t.Errorf("%s\nruns by: %s", text, step)
			}
		}
	}
}

func TestListingsWalkAlongTheIndexThatFitsTheirFilter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	makeLedger(t, path)
	conn := raw(t, path)
	for name, test := range map[string]struct {
		query deed.Query
		index string
	}{
		"all of a tenant":          {deed.Query{Tenant: benchTenant}, "operations_id"},
		"what is uncertain":        {deed.Query{Tenant: benchTenant, Tool: "a/b", Statuses: []deed.Status{deed.StatusUncertain}}, "operations_status (tenant=? AND status=?)"},
		"a tool and a fingerprint": {deed.Query{Tenant: benchTenant, Tool: "a/b", Fingerprint: "x"}, "o USING INDEX operations_fingerprint (tenant=? AND tool=? AND fingerprint=?)"},
		"a fingerprint":            {deed.Query{Tenant: benchTenant, Fingerprint: "x"}, "o USING INDEX operations_fingerprint (tenant=? AND tool=? AND fingerprint=?)"},
		"the next tool":            {deed.Query{Tenant: benchTenant, Fingerprint: "x"}, "COVERING INDEX operations_fingerprint (tenant=? AND tool>?)"},
	} {
		for _, text := range sqlite.ListTexts(test.query) {
			plan := strings.Join(rows(t, conn, "EXPLAIN QUERY PLAN "+text), "\n")
			if !strings.Contains(plan, test.index) {
				t.Errorf("%s is listed by\n%s\nwant %s", name, plan, test.index)
			}
		}
	}
}

func TestARareToolIsListedLikeAnyOther(t *testing.T) {
	ledger := openAt(t, filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{Patience: time.Minute})
	const many, rare = 6000, "payments/void"
	for from := int64(0); from < many; from += 1000 {
		var batch deed.Change
		for n := from; n < from+1000; n++ {
			op := *newBenchOperation(n + 1).settle.Put[0]
			op.DeliveredAt = op.SettledAt
			if n%2000 == 7 {
				op.Tool = rare
			}
			batch.Put = append(batch.Put, &op)
		}
		if _, err := ledger.Transact(t.Context(), deed.Scope{Tenant: benchTenant}, func(deed.View) (deed.Change, error) { return batch, nil }); err != nil {
			t.Fatal(err)
		}
	}
	list := func(query deed.Query) []deed.OperationID {
		query.Tenant = benchTenant
		page, err := ledger.List(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		var ids []deed.OperationID
		for _, op := range page.Operations {
			ids = append(ids, op.ID)
		}
		return ids
	}
	id := func(n int64) deed.OperationID { return newBenchOperation(n + 1).id() }
	for name, test := range map[string]struct {
		query deed.Query
		want  []deed.OperationID
	}{
		"all of it":            {deed.Query{Tool: rare}, []deed.OperationID{id(4007), id(2007), id(7)}},
		"its second page":      {deed.Query{Tool: rare, Before: id(4007)}, []deed.OperationID{id(2007), id(7)}},
		"its newest":           {deed.Query{Tool: rare, Limit: 1}, []deed.OperationID{id(4007)}},
		"what it committed":    {deed.Query{Tool: rare, Statuses: []deed.Status{deed.StatusCommitted}}, []deed.OperationID{id(4007), id(2007), id(7)}},
		"the newest of many":   {deed.Query{Tool: "payments/refund", Limit: 2}, []deed.OperationID{id(5999), id(5998)}},
		"a tool without any":   {deed.Query{Tool: "payments/none"}, nil},
		"a fingerprint of one": {deed.Query{Fingerprint: deed.Fingerprint(benchDigest("order-8"))}, []deed.OperationID{id(7)}},
	} {
		if diff := cmp.Diff(test.want, list(test.query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The walk over twins may not grow with their number: it counts steps of
// SQLite's machine, not time.
func TestTwinsCostNoMoreWhenThereAreThousands(t *testing.T) {
	ledger := openAt(t, filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{Patience: time.Minute})
	const many = 3000
	template := newBenchOperation(1).settle.Put[0]
	var batch deed.Change
	for n := range int64(many) {
		op := *newBenchOperation(n + 1).settle.Put[0]
		op.Fingerprint, op.Matter, op.DeliveredAt = template.Fingerprint, template.Matter, op.SettledAt
		batch.Put = append(batch.Put, &op)
	}
	if _, err := ledger.Transact(t.Context(), deed.Scope{Tenant: benchTenant}, func(deed.View) (deed.Change, error) { return batch, nil }); err != nil {
		t.Fatal(err)
	}
	view, err := ledger.Load(t.Context(), deed.Scope{
		Tenant: benchTenant, Tool: template.Tool,
		Fingerprints: []deed.Fingerprint{template.Fingerprint}, Matters: []deed.Matter{template.Matter},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(view.Twins) != 1 || view.Twins[0].ID != batch.Put[many-1].ID {
		t.Errorf("%d twins, want the newest", len(view.Twins))
	}
	conn := raw(t, ledger.Path())
	for _, text := range sqlite.StatementTexts() {
		if strings.Contains(text, "o.standing>=?") {
			plan := strings.Join(rows(t, conn, "EXPLAIN QUERY PLAN "+text), "\n")
			if !strings.Contains(plan, "standing>?") || strings.Contains(plan, "TEMP") {
				t.Errorf("twins are not found by their standing:\n%s", plan)
			}
		}
	}
}

func TestMigrationsAreNumbered(t *testing.T) {
	texts, err := sqlite.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(texts)) != sqlite.NewestVersion() {
		t.Errorf("%d migrations, and the newest version is %d", len(texts), sqlite.NewestVersion())
	}
}

func TestTheSchemaSpeaksTheGlossary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	makeLedger(t, path)
	got := rows(t, raw(t, path), "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
	want := []string{"arguments", "bookings", "consents", "events", "keys", "ledger", "operations", "receipts", "results", "settings"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
}
