// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"

	"github.com/deed-run/deed"
)

// budgetLine is one share of a budget as it stands.
type budgetLine struct {
	deed.BudgetStatus
	Window string
	// Spent, Held and Left are parts of a bar 1000 wide.
	SpentAt, HeldAt int
	Over            bool
}

type budgetsPage struct {
	Lines   []budgetLine
	Problem string
}

// budgets shows GET /budgets.
func (v *visit) budgets() {
	if v.console.Budgets == nil {
		v.nowhere()
		return
	}
	var p budgetsPage
	status := http.StatusOK
	list, err := v.console.Budgets(v.Context(), v.who)
	if err != nil {
		why := v.failureOf(err)
		status, p.Problem = why.Status, why.Text
	}
	for _, b := range list {
		line := budgetLine{BudgetStatus: b, Window: windowWords(b.Budget), Over: b.Left < 0}
		line.SpentAt = part(b.Spent, b.Budget.Limit)
		line.HeldAt = min(part(b.Held, b.Budget.Limit), 1000-line.SpentAt)
		p.Lines = append(p.Lines, line)
	}
	v.show(status, "budgets", "Budgets", p)
}

// part is what an amount is of a whole, in thousandths.
func part(amount, whole deed.Amount) int {
	if whole <= 0 || amount <= 0 {
		return 0
	}
	return int(min(1000, float64(amount)/float64(whole)*1000))
}

func windowWords(b deed.Budget) string {
	switch {
	case b.Calendar != "":
		return "per calendar " + b.Calendar + " (UTC)"
	case b.Window > 0:
		return "in any " + span(b.Window)
	}
	return "for ever"
}
