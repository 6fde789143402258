// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
	"github.com/deed-run/deed/sqlite"
)

const ofAProgram = `
programs:
  billing: {account: acct_1}
budgets:
  refunds: {limit: 100, currency: EUR, window: day}
tools:
  billing/refund:
    effect: non_idempotent
    key: required
    approval: {when: args.amount > 50}
    budget: {name: refunds, amount: /amount}
`

// A Go program that runs its tools itself takes their rules from a file.
func ExampleConfig_Policy() {
	folder, err := os.MkdirTemp("", "deed")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, "deed.yaml")
	if err := os.WriteFile(file, []byte(ofAProgram), 0o600); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	ledger, err := sqlite.Open(ctx, filepath.Join(folder, "ledger.db"), sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = ledger.Close() }()

	config, err := policy.Load(file, os.Getenv)
	if err != nil {
		log.Fatal(err) // names the line, what is wrong there, and what to write
	}
	rt, err := deed.New(deed.Options{Store: ledger, Policy: config.Policy()})
	if err != nil {
		log.Fatal(err)
	}

	defer func() { _ = rt.Close(ctx) }()
	for n, amount := range []int{12, 60, 99} {
		answer, err := rt.Do(ctx, deed.Call{
			Principal: deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightCall}},
			Tool:      "billing/refund",
			Key:       deed.OperationKey(fmt.Sprintf("refund:order-%d:first", n)),
			Arguments: fmt.Appendf(nil, `{"order":%d,"amount":%d}`, n, amount),
		}, func(context.Context, deed.Attempt) (deed.Receipt, error) {
			return deed.Receipt{RemoteSystem: "billing", RemoteID: fmt.Sprintf("re_%d", n)}, nil
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(strings.TrimSpace(fmt.Sprintln(amount, answer.Decision, answer.Reason)))
	}
	// Output:
	// 12 execute
	// 60 awaiting_approval pending
	// 99 denied budget_exceeded
}
