// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"bytes"
	"time"
)

// share is whose part of the rule's budget the call takes: that of the
// operation's own actor, whoever goes on with it.
func (c *claim) share(op *Operation) string {
	if op != nil {
		return c.rule.Spend.Budget.Share(op.Actor, op.Tool, op.Meta)
	}
	return c.rule.Spend.Budget.Share(c.call.Principal.Actor, c.rule.Tool, c.call.Meta)
}

// budgetQuery asks for the budget that a begin would take from.
func (c *claim) budgetQuery(op *Operation) []BudgetQuery {
	if c.rule.Spend == nil {
		return nil
	}
	return []BudgetQuery{{Budget: c.rule.Spend.Budget, Scope: c.share(op)}}
}

// otherShare reports whether the transaction met an operation whose share of
// the budget is not the one that it asked for.
func (c *claim) otherShare(view View, scope Scope) bool {
	return c.rule.Spend != nil && (len(scope.Budgets) == 0 || scope.Budgets[0].Scope != c.share(view.Operation))
}

// priceOf reads what a snapshot costs.
func (c *claim) priceOf(arguments []byte) (Amount, error) {
	return c.rule.price(c.withDefaults(arguments))
}

// cost is what a begin of the operation, nil for a new one, costs: what every
// attempt sends is the snapshot, whatever the call carries.
func (c *claim) cost(op *Operation) (Amount, error) {
	if op == nil || len(op.Arguments) == 0 || bytes.Equal(op.Arguments, c.call.Arguments) {
		return c.price, c.noPrice
	}
	return c.priceOf(op.Arguments)
}

// metaUnfit is the entry of [Operation.Meta] of what observe mode has sent although
// the budget had no room for it. It stands on the record itself, for another attempt
// depends on it.
const metaUnfit = "over_budget"

// fit refuses what the budget has no room for; otherwise it leaves the ruling
// as it is. Money that the operation holds already is not asked for again, unless
// it never fitted.
func (c *claim) fit(q inquiry, r ruling) ruling {
	if c.rule.Spend == nil {
		return r
	}
	holds := r.op != nil && r.op.holds()
	if holds && r.op.Meta[metaUnfit] == "" {
		return r
	}
	amount, err := c.cost(r.op)
	if err != nil {
		no := answered(Denied, ReasonBadArguments, r.op)
		no.text = err.Error()
		return no
	}
	if len(q.view.Budgets) != 1 {
		no := answered(Denied, ReasonBudgetExceeded, r.op)
		no.text = errNoSum.Error()
		return no
	}
	sum := q.view.Budgets[0]
	if holds {
		sum.Held -= r.op.held(c.rule.Spend.Budget.Name, sum.Scope)
	}
	why, fits := sum.fit(c.rule.Spend.Budget, amount, q.now)
	if fits {
		return r
	}
	no := answered(Denied, ReasonBudgetExceeded, r.op)
	no.text, no.budget = why.Text(), &why
	return no
}

// booking is the money that a begin sets aside, nil for none.
func (c *claim) booking(op *Operation, now time.Time) *Booking {
	if c.rule.Spend == nil {
		return nil
	}
	amount, err := c.cost(op)
	if err != nil {
		return nil // fit has refused it, unless the operation holds money already
	}
	budget := c.rule.Spend.Budget
	return &Booking{
		Budget: budget.Name, Scope: c.share(op), Currency: budget.Currency, Amount: amount, State: BookingHeld, At: now,
	}
}
