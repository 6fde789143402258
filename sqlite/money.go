// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/deed-run/deed"
)

// money reads what the scope asks of budgets and of a consent.
func (l *loader) money() error {
	for _, query := range l.scope.Budgets {
		if err := l.budget(query); err != nil {
			return err
		}
	}
	if l.scope.Consent == "" {
		return nil
	}
	by, err := l.consentBy(l.scope.Consent)
	l.view.ConsentBy = by
	return err
}

func (l *loader) budget(query deed.BudgetQuery) error {
	if query.Every {
		return l.shares(query)
	}
	s := l.use(stmtShare)
	s.text(string(l.scope.Tenant))
	s.text(query.Budget.Name)
	s.text(query.Budget.Currency)
	s.text(query.Scope)
	s.integer(after(query.Budget, l.view.Now))
	sum := sumOf(query, query.Scope)
	for s.next() {
		if s.readText() == "held" {
			sum.Held = readSum(s)
		} else {
			sum.Spent = readSum(s)
		}
	}
	l.view.Budgets = append(l.view.Budgets, sum)
	return s.end()
}

func sumOf(query deed.BudgetQuery, share string) deed.BudgetSum {
	return deed.BudgetSum{Budget: query.Budget.Name, Scope: share, Currency: query.Budget.Currency}
}

// sqlShares adds up every share of a budget.
const sqlShares = `SELECT share, sum(held >> 32), sum(held & 4294967295), sum(spent >> 32), sum(spent & 4294967295) FROM (
	SELECT share, amount AS held, 0 AS spent FROM bookings INDEXED BY bookings_held
		WHERE tenant=? AND budget=? AND currency=? AND state = 'held'
	UNION ALL SELECT share, 0, amount FROM bookings INDEXED BY bookings_spent
		WHERE tenant=? AND budget=? AND currency=? AND state = 'spent' AND at>?) GROUP BY share ORDER BY share`

func (l *loader) shares(query deed.BudgetQuery) error {
	s, err := l.prepare(sqlShares)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	for range 2 {
		s.text(string(l.scope.Tenant))
		s.text(query.Budget.Name)
		s.text(query.Budget.Currency)
	}
	s.integer(after(query.Budget, l.view.Now))
	for s.next() {
		sum := sumOf(query, s.readText())
		sum.Held, sum.Spent = readSum(s), readSum(s)
		l.view.Budgets = append(l.view.Budgets, sum)
	}
	return s.end()
}

// sumOfAmounts adds up in two halves: SQLite refuses a sum that is out of the
// range of integers.
const sumOfAmounts = `coalesce(sum(amount >> 32), 0), coalesce(sum(amount & 4294967295), 0)`

// readSum reads the halves of a sum, or the greatest amount when it is more.
func readSum(s *statement) deed.Amount {
	high, low := s.readInteger(), s.readInteger()
	if high > math.MaxInt64>>32 {
		return math.MaxInt64
	}
	return deed.Amount(high << 32).Plus(deed.Amount(low))
}

// after is the microsecond after which spent bookings count: a window does not
// have its first instant, a day has.
func after(budget deed.Budget, now time.Time) int64 {
	since := budget.Since(now)
	switch {
	case since.IsZero():
		return math.MinInt64
	case budget.Calendar != "":
		return micros(since) - 1
	}
	return micros(since)
}

func (l *loader) consentBy(id string) (by deed.OperationID, err error) {
	s := l.use(stmtConsent)
	s.text(string(l.scope.Tenant))
	s.text(id)
	if s.next() {
		by = deed.OperationID(s.readID(operationPrefix))
	}
	return by, s.end()
}

// putMoney writes the bookings and the consents of an operation that it did
// not have in its stored state, which is nil for a new one.
func (l *loader) putMoney(seq int64, before, op *deed.Operation) error {
	for i := range op.Attempts {
		a := &op.Attempts[i]
		for j := range a.Bookings {
			if before != nil && i < len(before.Attempts) && j < len(before.Attempts[i].Bookings) && before.Attempts[i].Bookings[j] == a.Bookings[j] {
				continue
			}
			if err := l.putBooking(seq, op, a.Number, j, &a.Bookings[j]); err != nil {
				return err
			}
		}
	}
	if op.Approval == nil {
		return nil
	}
	var known []string
	if before != nil {
		known = before.Approval.ConsentIDs()
	}
	for _, id := range op.Approval.ConsentIDs() {
		if slices.Contains(known, id) {
			continue
		}
		if err := l.spendConsent(op, id); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) putBooking(seq int64, op *deed.Operation, attempt, number int, b *deed.Booking) error {
	s := l.use(stmtPutBooking)
	s.integer(seq)
	s.integer(int64(attempt))
	s.integer(int64(number))
	s.text(string(op.Tenant))
	s.text(b.Budget)
	s.text(b.Scope)
	s.text(b.Currency)
	s.integer(int64(b.Amount))
	s.text(string(b.State))
	s.moment(b.At)
	return s.run()
}

func (l *loader) spendConsent(op *deed.Operation, id string) error {
	s := l.use(stmtSpendConsent)
	s.text(string(op.Tenant))
	s.text(id)
	s.operationID(string(op.ID))
	if err := s.run(); err != nil || l.Changes() > 0 {
		return err
	}
	by, err := l.consentBy(id)
	if err == nil && by != op.ID {
		err = fmt.Errorf("consent %q of %s was spent for %s: %w; nothing was written", id, op.ID, by, deed.ErrConsentSpent)
	}
	return err
}
