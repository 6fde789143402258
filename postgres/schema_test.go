// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
)

func TestTheDatabaseRefusesAnOperationThatContradictsItself(t *testing.T) {
	address := cluster.Schema(t)
	ledger := open(t, address, postgres.Options{})
	if err := newBenchOperation(1).transactBoth(t.Context(), ledger); err != nil {
		t.Fatal(err)
	}
	if err := begin(t.Context(), ledger, 2); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, test := range []struct{ of, set string }{
		{"committed", `status = 'unheard'`},
		{"committed", `status = 'unheard', standing = -1`},
		{"committed", `status = 'failed'`},
		{"committed", `version = 0`},
		{"committed", `receipts = ''`},
		{"committed", `standing = 1`},
		{"committed", `unresolved = true`},
		{"committed", `delivered_at = 1`},
		{"committed", `status = 'uncertain', unresolved = true, begun_at = NULL`},
		{"committed", `status = 'uncertain', reason = 'abandoned'`},
		{"committed", `status = 'uncertain', standing = 6`},
		{"executing", `lapses_at = NULL`},
		{"executing", `begun_at = NULL`},
		{"executing", `unresolved = false`},
		{"executing", `standing = 2`},
		{"executing", `status = 'awaiting_input', lapses_at = NULL`},
		{"executing", `status = 'authorized'`},
	} {
		tag, err := conn.Exec(t.Context(), `UPDATE deed_operations SET `+test.set+` WHERE status = '`+test.of+`'`)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != "23514" {
			t.Errorf("an operation that is %s, with %s: %s, %v", test.of, test.set, tag, err)
		}
	}
	for _, test := range []struct{ of, set string }{
		{"committed", `delivered_at = 1, standing = 1`},
		{"committed", `status = 'failed', standing = 2`},
		{"failed", `status = 'uncertain', reason = 'abandoned', standing = 6`},
		{"executing", `status = 'uncertain', lapses_at = NULL`},
	} {
		tag, err := conn.Exec(t.Context(), `UPDATE deed_operations SET `+test.set+` WHERE status = '`+test.of+`'`)
		if err != nil || tag.RowsAffected() != 1 {
			t.Errorf("an operation that is %s, with %s: %s, %v", test.of, test.set, tag, err)
		}
	}
}

func TestAnEventThatIsAppendedTwiceIsThereOnce(t *testing.T) {
	ledger := open(t, cluster.Schema(t), postgres.Options{})
	if err := begin(t.Context(), ledger, 1); err != nil {
		t.Fatal(err)
	}
	o := newBenchOperation(1)
	first, second := o.settle.Events[0], o.settle.Events[0]
	first.Name, second.Name = "replay", "replay"
	second.ID = "ev_another"
	for _, events := range [][]deed.Event{{first}, {first, second}, {second}} {
		if err := ledger.Append(t.Context(), events, deed.Durable); err != nil {
			t.Fatal(err)
		}
	}
	// One that is there already does not keep others from being written.
	if _, err := ledger.Transact(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()}, func(deed.View) (deed.Change, error) {
		change := o.settle
		change.Events = append([]deed.Event{first}, o.begin.Events...)
		return change, nil
	}); err != nil {
		t.Fatal(err)
	}
	events, err := ledger.Events(t.Context(), deed.EventQuery{Tenant: benchTenant, Operation: o.id()})
	if err != nil || len(events) != 3 {
		t.Errorf("%d events are there, %v; want the begin, and one of each that was appended", len(events), err)
	}
}
