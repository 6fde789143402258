// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"fmt"
)

// BudgetStatus is one share of a budget as it stands.
type BudgetStatus struct {
	Budget Budget
	// Share is "" for the tenant's one, else the scope and its value.
	Share string
	Held  Amount
	Spent Amount
	// Left may be negative: what a provider really charged is never refused.
	Left Amount
}

// Budgets tells how the budgets stand, a line for each share of which
// anything is held or spent, and one for a budget of which nothing is. It needs the right to read.
func (rt *Runtime) Budgets(ctx context.Context, who Principal, budgets []Budget) ([]BudgetStatus, error) {
	if !who.May(RightRead) {
		return nil, fmt.Errorf("budgets: %w: it takes the right %q", ErrForbidden, RightRead)
	}
	var list []BudgetStatus
	for _, budget := range budgets {
		view, err := rt.store.Load(ctx, Scope{Tenant: who.Tenant, Budgets: []BudgetQuery{{Budget: budget, Every: true}}})
		if err != nil {
			return nil, err
		}
		if len(view.Budgets) == 0 {
			list = append(list, BudgetStatus{Budget: budget, Left: budget.Limit})
		}
		for _, sum := range view.Budgets {
			list = append(list, BudgetStatus{
				Budget: budget, Share: sum.Scope, Held: sum.Held, Spent: sum.Spent, Left: sum.left(budget),
			})
		}
	}
	return list, nil
}
