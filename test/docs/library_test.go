// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

// payments stands for a program's own client of a provider.
type payments struct{}

func (payments) Refund(context.Context, []byte) (string, error) { return "re_1", nil }

// The README shows the body of refundOnce.
func refundOnce(ctx context.Context, path string, provider payments) error {
	ledger, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer ledger.Close()
	rt, err := deed.New(deed.Options{Store: ledger, Policy: deed.FixedPolicy{}})
	if err != nil {
		return err
	}
	defer rt.Close(ctx)

	answer, err := rt.Do(ctx, deed.Call{
		Principal: deed.Principal{Tenant: "acme", Actor: "support", Rights: []deed.Right{deed.RightCall}},
		Tool:      "payments/refund",
		Key:       deed.OperationKey("refund:order-1042:first"),
		Arguments: []byte(`{"order_id":"1042","amount":12}`),
	}, func(ctx context.Context, attempt deed.Attempt) (deed.Receipt, error) {
		id, err := provider.Refund(ctx, attempt.Arguments)
		return deed.Receipt{RemoteSystem: "payments", RemoteID: id}, err
	})
	if err != nil {
		return err
	}
	if !answer.Done() {
		return fmt.Errorf("not known to be refunded: %s (%s) %s", answer.Decision, answer.Reason, answer.Text)
	}
	fmt.Println(answer.Decision, answer.Effective, answer.Receipt().RemoteID)
	return nil
}

// A program that is started twice refunds once.
func Example() {
	folder, err := os.MkdirTemp("", "deed")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	for range 2 {
		if err := refundOnce(context.Background(), filepath.Join(folder, "ledger.db"), payments{}); err != nil {
			panic(err)
		}
	}
	// Output:
	// execute committed re_1
	// replay committed re_1
}
