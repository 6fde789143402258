// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package dotx_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
)

// The page on the library shows the body of bookOnce.
func bookOnce(ctx context.Context, conn *pgx.Conn, rt *deed.Runtime, ledger *postgres.Ledger) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	answer, err := deed.DoTx(ctx, rt, ledger.InTx(tx), deed.Call{
		Principal: deed.Principal{Tenant: "acme", Actor: "clerk", Rights: []deed.Right{deed.RightCall}},
		Tool:      "accounts/transfer",
		Key:       deed.OperationKey("transfer:invoice-77:first"),
		Arguments: []byte(`{"to":"DE02","amount":12}`),
	}, func(ctx context.Context, _ deed.Attempt) (deed.Receipt, error) {
		_, err := tx.Exec(ctx, `INSERT INTO transfers VALUES ($1, $2)`, "DE02", 12)
		return deed.Receipt{RemoteSystem: "accounts", RemoteID: "invoice-77"}, err
	})
	if err != nil {
		return err // rolled back: nothing happened
	}
	if !answer.Done() {
		return fmt.Errorf("nothing was booked by this call: %s (%s) %s", answer.Decision, answer.Reason, answer.Text) // rolled back
	}
	fmt.Println(answer.Decision, answer.Receipt().RemoteID)
	return nil
}
