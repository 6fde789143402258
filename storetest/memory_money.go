// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// consentName is a consent that was given elsewhere.
type consentName struct {
	tenant deed.Tenant
	id     string
}

// budgets answers what a scope asks of money.
func (m *Memory) budgets(scope deed.Scope, now time.Time) []deed.BudgetSum {
	var sums []deed.BudgetSum
	for _, query := range scope.Budgets {
		if query.Every {
			sums = append(sums, m.shares(scope.Tenant, query, now)...)
			continue
		}
		one := deed.BudgetSum{Budget: query.Budget.Name, Scope: query.Scope, Currency: query.Budget.Currency}
		for _, sum := range m.shares(scope.Tenant, query, now) {
			if sum.Scope == query.Scope {
				one = sum
			}
		}
		sums = append(sums, one)
	}
	return sums
}

// shares adds up, for each share of a budget, what counts.
func (m *Memory) shares(tenant deed.Tenant, query deed.BudgetQuery, now time.Time) []deed.BudgetSum {
	found := map[string]*deed.BudgetSum{}
	for _, op := range m.operations {
		if op.Tenant != tenant {
			continue
		}
		for _, attempt := range op.Attempts {
			for _, b := range attempt.Bookings {
				held := b.State == deed.BookingHeld
				spent := b.State == deed.BookingSpent && query.Budget.Counts(b.At, now)
				if b.Budget != query.Budget.Name || b.Currency != query.Budget.Currency || !held && !spent {
					continue
				}
				sum := found[b.Scope]
				if sum == nil {
					sum = &deed.BudgetSum{Budget: b.Budget, Scope: b.Scope, Currency: b.Currency}
					found[b.Scope] = sum
				}
				if held {
					sum.Held = sum.Held.Plus(b.Amount)
				} else {
					sum.Spent = sum.Spent.Plus(b.Amount)
				}
			}
		}
	}
	var list []deed.BudgetSum
	for _, sum := range found {
		list = append(list, *sum)
	}
	slices.SortFunc(list, func(a, b deed.BudgetSum) int { return strings.Compare(a.Scope, b.Scope) })
	return list
}

// checkConsents refuses consents that were spent for another operation.
func (m *Memory) checkConsents(op *deed.Operation) error {
	for _, id := range op.Approval.ConsentIDs() {
		if by, spent := m.consents[consentName{op.Tenant, id}]; spent && by != op.ID {
			return fmt.Errorf("consent %q of %s was spent for %s: %w; nothing was written", id, op.ID, by, deed.ErrConsentSpent)
		}
	}
	return nil
}

func (m *Memory) spendConsents(op *deed.Operation) {
	for _, id := range op.Approval.ConsentIDs() {
		m.consents[consentName{op.Tenant, id}] = op.ID
	}
}
