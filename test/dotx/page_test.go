// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package dotx_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestTheProgramOnThePageBooksOnce(t *testing.T) {
	database := newDatabase(t)
	r := rule()
	b := newBank(t, database, r)
	conn, err := pgx.Connect(t.Context(), cluster.Address(database))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	for range 2 {
		if err := bookOnce(t.Context(), conn, b.runtime, b.ledger); err != nil {
			t.Fatal(err)
		}
	}
	if n := transfers(t, database, "DE02"); n != 1 {
		t.Errorf("%d transfers", n)
	}
}
