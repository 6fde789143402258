// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"errors"
	"fmt"
	"time"
)

// The scopes of a budget.
const (
	BudgetPerTenant = "tenant"
	BudgetPerActor  = "actor"
	BudgetPerTool   = "tool"
	BudgetPerRun    = "run"
)

// BudgetQuery asks a transaction what a budget has given out. A transaction
// that asks for one share of a budget locks it.
type BudgetQuery struct {
	Budget Budget
	// Scope is one share of the budget.
	Scope string
	// Every asks for all shares that have bookings, without locks.
	Every bool
}

// BudgetSum is what one share of a budget has given out.
type BudgetSum struct {
	Budget   string
	Scope    string
	Currency string
	// Held adds up what is held, whatever its age; Spent what was spent since
	// the budget's window began.
	Held  Amount
	Spent Amount
}

// Since is the instant after which spent bookings count: the zero time when
// all of them do. Calendar boundaries are those of UTC; weeks begin on Monday.
func (b Budget) Since(now time.Time) time.Time {
	now = now.UTC()
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	switch b.Calendar {
	case "day":
		return day
	case "week":
		return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	case "month":
		return day.AddDate(0, 0, 1-day.Day())
	}
	if b.Window <= 0 {
		return time.Time{}
	}
	return now.Add(-b.Window)
}

// Until is when all that was spent in the calendar's window stops counting: the zero
// time where no boundary ends it, but each sum has an end of its own or none.
func (b Budget) Until(now time.Time) time.Time {
	from := b.Since(now)
	switch b.Calendar {
	case "day":
		return from.AddDate(0, 0, 1)
	case "week":
		return from.AddDate(0, 0, 7)
	case "month":
		return from.AddDate(0, 1, 0)
	}
	return time.Time{}
}

// Counts reports whether a spent booking of that time counts at now: from a
// calendar boundary on, or within the window.
func (b Budget) Counts(at, now time.Time) bool {
	if b.Calendar != "" {
		return !at.Before(b.Since(now))
	}
	return at.After(b.Since(now))
}

// Share names whose part of the budget an operation takes: "" for the tenant's
// one, else the scope and its value. Without a run, all such operations share.
func (b Budget) Share(actor Actor, tool Tool, meta map[string]string) string {
	switch b.Scope {
	case BudgetPerActor:
		return "actor:" + string(actor)
	case BudgetPerTool:
		return "tool:" + string(tool)
	case BudgetPerRun:
		return "run:" + meta["run"]
	}
	return ""
}

// BudgetRefusal is why a call does not fit its budget.
type BudgetRefusal struct {
	Budget string
	// Share is "" for the tenant's one, else the scope and its value.
	Share    string
	Currency string
	Amount   Amount
	Left     Amount
	// Held is what unconfirmed operations hold of it.
	Held Amount
	// Until is when what was spent stops counting, zero where that is not one moment.
	Until time.Time
}

// Text says it to people.
func (r BudgetRefusal) Text() string {
	text := fmt.Sprintf("%s %s does not fit budget %s: %s left, %s held by unconfirmed operations",
		r.Amount, r.Currency, r.Budget, max(0, r.Left), r.Held)
	if !r.Until.IsZero() {
		text += "; what was spent counts until " + stamp(r.Until)
	}
	return text
}

// errNoSum is a Store that does not answer what it was asked.
var errNoSum = errors.New("the ledger did not say what the budget has given out")

// price is what a call costs by its rule, as the snapshot says.
func (rule Rule) price(arguments []byte) (amount Amount, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("its amount cannot be read: %v", r)
		}
	}()
	if amount, err = rule.Spend.Amount(arguments); err != nil {
		return 0, err
	}
	if amount < 0 {
		return 0, fmt.Errorf("its amount %s is negative", amount)
	}
	return amount, nil
}

// charged is what the provider says that it did cost, nil when it does not.
func (rule Rule) charged(out Outcome) (actual *Amount) {
	if rule.Spend == nil || rule.Spend.Actual == nil || out.Kind != OutcomeSuccess {
		return nil
	}
	defer func() {
		if recover() != nil {
			actual = nil
		}
	}()
	stated := out.Stated
	if stated == nil {
		stated = out.Result
	}
	if amount, said := rule.Spend.Actual(stated); said && amount >= 0 {
		return &amount
	}
	return nil
}

// left is what of the budget's limit is not given out.
func (sum BudgetSum) left(budget Budget) Amount { return budget.Limit.Plus(-sum.Held.Plus(sum.Spent)) }

// fit answers whether an amount fits what is left of a budget.
func (sum BudgetSum) fit(budget Budget, amount Amount, now time.Time) (BudgetRefusal, bool) {
	left := sum.left(budget)
	return BudgetRefusal{
		Budget: budget.Name, Share: sum.Scope, Currency: budget.Currency, Amount: amount, Left: left, Held: sum.Held, Until: budget.Until(now),
	}, amount <= left
}
