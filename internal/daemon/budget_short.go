// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"

	"github.com/deed-run/deed"
)

// Short tells what keeps an operation from being sent when its budget has no room
// for it as it stands; false when it has, when its tool has no budget, and when it
// holds its money already. Nothing is reserved: who begins first gets what is left.
func (c *Core) Short(ctx context.Context, who deed.Principal, op *deed.Operation) (deed.BudgetRefusal, bool, error) {
	rule := c.Policy.Rule(op.Tool, deed.ToolFacts{Definition: op.Definition, UpstreamIdentity: op.UpstreamIdentity})
	if rule.Spend == nil || holdsMoney(op) {
		return deed.BudgetRefusal{}, false, nil
	}
	budget := rule.Spend.Budget
	amount, err := rule.Spend.Amount(op.Arguments)
	if err != nil {
		return deed.BudgetRefusal{}, false, err
	}
	shares, err := c.Runtime.Budgets(ctx, who, []deed.Budget{budget})
	if err != nil {
		return deed.BudgetRefusal{}, false, err
	}
	short := deed.BudgetRefusal{
		Budget: budget.Name, Share: budget.Share(op.Actor, op.Tool, op.Meta), Currency: budget.Currency, Amount: amount, Left: budget.Limit, Until: budget.Until(c.Clock.Now()),
	}
	for _, s := range shares {
		if s.Share == short.Share {
			short.Left, short.Held = s.Left, s.Held
		}
	}
	return short, amount > short.Left, nil
}

func holdsMoney(op *deed.Operation) bool {
	for _, a := range op.Attempts {
		for _, b := range a.Bookings {
			if b.State == deed.BookingHeld {
				return true
			}
		}
	}
	return false
}
