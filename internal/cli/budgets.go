// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
)

// budgetLine is one share of a budget as it stands; amounts are exact decimals.
type budgetLine struct {
	Tenant   deed.Tenant `json:"tenant,omitempty"`
	Name     string      `json:"name"`
	Share    string      `json:"share,omitempty"`
	Currency string      `json:"currency"`
	Limit    string      `json:"limit"`
	Held     string      `json:"held"`
	Spent    string      `json:"spent"`
	Left     string      `json:"left"`
}

func (a *app) budgetsCommand() *cobra.Command {
	at := place{reads: true}
	list := &cobra.Command{
		Use: "list", Short: "Show what each budget has given out: held, spent, left", Args: cobra.NoArgs,
		Long: `Shows every share of every configured budget. Held is what operations without a
settled outcome keep reserved, whatever their age; spent is what was committed
within the budget's window. Left may be negative: what a provider charged is
recorded, never refused.`,
		Example: "  deed budgets list --config deed.yaml\n  deed budgets list --server http://127.0.0.1:7391 --json",
		RunE: action(func(ctx context.Context, _ []string) (err error) {
			d, err := a.desk(ctx, at)
			if err != nil {
				return err
			}
			defer leave(d, &err)
			budgets, err := d.Budgets(ctx)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"budgets": append([]budgetLine{}, budgets...)})
			}
			if len(budgets) == 0 {
				return a.print(noBudgets(at))
			}
			rows := [][]string{{"BUDGET", "SHARE", "TENANT", "LIMIT", "HELD", "SPENT", "LEFT", "CURRENCY"}}
			told := slices.ContainsFunc(budgets, func(b budgetLine) bool { return b.Tenant != "" })
			for _, b := range budgets {
				rows = append(rows, []string{b.Name, orDash(b.Share), orDash(string(b.Tenant)), b.Limit, b.Held, b.Spent, b.Left, b.Currency})
			}
			if !told { // a gateway does not: it answers for the tenant of the token
				rows = without(rows, "TENANT")
			}
			width := a.width()
			rows, left := fitted(rows, width, fit{"SHARE", 16}, fit{"TENANT", 12}, fit{"TENANT", 0}, fit{"BUDGET", 16})
			return a.print(append(table(rows), leftOut(left, width)...)...)
		}),
	}
	at.operatorFlags(list)
	return group("budgets", "Look at budgets", list)
}

// noBudgets says where none were looked for: the ledger does not know what is limited.
func noBudgets(at place) string {
	switch {
	case at.server != "":
		return "the gateway at " + at.server + " has no budgets"
	case at.config == "":
		return "no configuration is named, and only one says what is limited: deed budgets list --config FILE, or --server URL"
	}
	return at.config + " has no budgets"
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
