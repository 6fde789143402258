// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
)

// Statements about budgets and consents.
const (
	// sinceColumn is the microsecond after which spent bookings count, by the
	// database's clock unless the request brings it.
	sinceColumn = `CROSS JOIN LATERAL (SELECT coalesce(q.after, CASE
			WHEN q.unit <> '' THEN (extract(epoch from date_trunc(q.unit, clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC') * 1000000)::bigint - 1
			WHEN q.span > 0 THEN ` + now + ` - q.span
			ELSE -9223372036854775808 END) AS after) w`

	budgetArrays = `unnest($2::int[], $3::int[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::text[]) q(n, rank, budget, currency, share, after, span, unit)`

	sqlShare = `SELECT q.n, q.rank, q.share, h.held, s.spent FROM ` + budgetArrays + ` ` + sinceColumn + `
		CROSS JOIN LATERAL (SELECT least(coalesce(sum(b.amount), 0), 9223372036854775807)::bigint AS held FROM deed_bookings b
			WHERE b.tenant = $1 AND b.budget = q.budget AND b.currency = q.currency AND b.share = q.share AND b.state = 'held') h
		CROSS JOIN LATERAL (SELECT least(coalesce(sum(b.amount), 0), 9223372036854775807)::bigint AS spent FROM deed_bookings b
			WHERE b.tenant = $1 AND b.budget = q.budget AND b.currency = q.currency AND b.share = q.share AND b.state = 'spent' AND b.at > w.after) s`

	sqlShares = `SELECT q.n, q.rank, u.share, u.held, u.spent FROM ` + budgetArrays + ` ` + sinceColumn + `
		CROSS JOIN LATERAL (SELECT e.share, least(sum(e.held), 9223372036854775807)::bigint AS held, least(sum(e.spent), 9223372036854775807)::bigint AS spent FROM (
			SELECT b.share, b.amount AS held, 0::bigint AS spent FROM deed_bookings b
				WHERE b.tenant = $1 AND b.budget = q.budget AND b.currency = q.currency AND b.state = 'held'
			UNION ALL SELECT b.share, 0::bigint, b.amount FROM deed_bookings b
				WHERE b.tenant = $1 AND b.budget = q.budget AND b.currency = q.currency AND b.state = 'spent' AND b.at > w.after) e
			GROUP BY e.share) u`

	sqlConsentBy = `SELECT q.n, c.operation FROM unnest($2::int[], $3::text[]) q(n, id)
		CROSS JOIN LATERAL (SELECT c.operation FROM deed_consents c WHERE c.tenant = $1 AND c.id = q.id LIMIT 1) c`

	sqlBook = guardOpen + `INSERT INTO deed_bookings (tenant, operation, attempt, number, budget, share, currency, amount, state, at)
		SELECT $1, u.* FROM unnest($3::text[], $4::int[], $5::int[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::text[], $11::bigint[])
			u(operation, attempt, number, budget, share, currency, amount, state, at) ORDER BY 2, 3, 4
		ON CONFLICT (tenant, operation, attempt, number) DO UPDATE SET amount = excluded.amount, state = excluded.state` + guardClose

	// A consent that was spent for another operation is not written, and the
	// guard says so.
	sqlSpendConsents = guardOpen + `INSERT INTO deed_consents AS c (tenant, id, operation)
		SELECT $1, u.* FROM unnest($3::text[], $4::text[]) u(id, operation) ORDER BY 2
		ON CONFLICT (tenant, id) DO UPDATE SET operation = excluded.operation WHERE c.operation = excluded.operation` + guardClose
)

// budgetsArrays ask for shares of budgets, one array to a column.
type budgetsArrays struct {
	n, rank                       []int32
	budget, currency, share, unit []string
	after                         []*int64
	span                          []int64
}

// add asks for one share, at the instant of a clock that is not the
// database's, if there is one.
func (a *budgetsArrays) add(n, rank int, query deed.BudgetQuery, at *time.Time) {
	a.n, a.rank = append(a.n, int32(n)), append(a.rank, int32(rank))
	a.budget = append(a.budget, indexedText(query.Budget.Name))
	a.currency = append(a.currency, indexedText(query.Budget.Currency))
	a.share = append(a.share, indexedText(query.Scope))
	a.unit = append(a.unit, query.Budget.Calendar)
	a.span = append(a.span, query.Budget.Window.Microseconds())
	var after *int64
	if at != nil {
		us := int64(math.MinInt64)
		if since := query.Budget.Since(*at); !since.IsZero() {
			us = since.UnixMicro()
		}
		if query.Budget.Calendar != "" {
			us--
		}
		after = &us
	}
	a.after = append(a.after, after)
}

func (a *budgetsArrays) args() []any {
	return []any{a.n, a.rank, a.budget, a.currency, a.share, a.after, a.span, a.unit}
}

// ranked is a sum with the place of the query that asked for it.
type ranked struct {
	rank int
	deed.BudgetSum
}

// money are the steps that read what the requests ask of budgets and consents.
func (r *reading) money(add func(sql string, rows int, read func(pgx.Rows) error, args ...any)) {
	var one, every budgetsArrays
	var consentOf []int32
	var consents []string
	for n, request := range r.requests {
		for rank, query := range request.scope.Budgets {
			into := &one
			if query.Every {
				into = &every
			}
			into.add(n, rank, query, r.at)
		}
		if request.scope.Consent != "" {
			consentOf, consents = append(consentOf, int32(n)), append(consents, indexedText(request.scope.Consent))
		}
	}
	add(sqlShare, len(one.n), r.readSum, one.args()...)
	add(sqlShares, len(every.n), r.readSum, every.args()...)
	add(sqlConsentBy, len(consents), r.readConsent, consentOf, consents)
}

func (r *reading) readSum(rows pgx.Rows) error {
	var n int
	var share string
	var held, spent int64
	var sum ranked
	if err := rows.Scan(&n, &sum.rank, &share, &held, &spent); err != nil {
		return err
	}
	request := r.requests[n]
	budget := request.scope.Budgets[sum.rank].Budget
	sum.BudgetSum = deed.BudgetSum{
		Budget: budget.Name, Scope: givenText(share), Currency: budget.Currency, Held: deed.Amount(held), Spent: deed.Amount(spent),
	}
	request.sums = append(request.sums, sum)
	return nil
}

func (r *reading) readConsent(rows pgx.Rows) error {
	var n int
	var by string
	if err := rows.Scan(&n, &by); err != nil {
		return err
	}
	r.requests[n].view.ConsentBy = deed.OperationID(givenText(by))
	return nil
}

// addUp puts the sums into the view, in the order of the queries.
func (q *request) addUp() {
	slices.SortFunc(q.sums, func(a, b ranked) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.Scope, b.Scope)) })
	for _, sum := range q.sums {
		q.view.Budgets = append(q.view.Budgets, sum.BudgetSum)
	}
}

// bookingArrays are bookings that are about to be written.
type bookingArrays struct {
	operation                      []string
	attempt, number                []int32
	budget, share, currency, state []string
	amount, at                     []int64
}

// consentArrays are consents that are about to be spent.
type consentArrays struct{ id, operation []string }

// moneySteps write what the operations book and spend. All of an operation's
// bookings are written: they are few, and those that stay do not change.
func (w *writing) moneySteps(tenant string) []step {
	var b bookingArrays
	var c consentArrays
	for _, at := range w.order {
		op := at.Operation
		id := indexedText(string(op.ID))
		for _, attempt := range op.Attempts {
			for number, booking := range attempt.Bookings {
				b.operation = append(b.operation, id)
				b.attempt, b.number = append(b.attempt, int32(attempt.Number)), append(b.number, int32(number))
				b.budget, b.share = append(b.budget, indexedText(booking.Budget)), append(b.share, indexedText(booking.Scope))
				b.currency, b.state = append(b.currency, indexedText(booking.Currency)), append(b.state, string(booking.State))
				b.amount, b.at = append(b.amount, int64(booking.Amount)), append(b.at, booking.At.UnixMicro())
			}
		}
		for _, consent := range op.Approval.ConsentIDs() {
			c.id, c.operation = append(c.id, indexedText(consent)), append(c.operation, id)
		}
	}
	var steps []step
	if len(b.operation) > 0 {
		steps = append(steps, step{sql: sqlBook, rows: len(b.operation), args: []any{tenant, int64(len(b.operation)), b.operation, b.attempt, b.number,
			b.budget, b.share, b.currency, b.amount, b.state, b.at}})
	}
	if len(c.id) > 0 {
		steps = append(steps, step{sql: sqlSpendConsents, rows: len(c.id), args: []any{tenant, int64(len(c.id)), c.id, c.operation}})
	}
	return steps
}

// moneySlots are the lock rows of the scope's budgets and, last, of its
// consent.
func moneySlots(scope *deed.Scope) []int32 {
	var list []int32
	for _, query := range scope.Budgets {
		if !query.Every {
			list = append(list, 2*slotsOfAKind+slotOf(deed.Tool(query.Budget.Name), query.Budget.Currency+"\x00"+query.Scope))
		}
	}
	if scope.Consent != "" {
		list = append(list, 3*slotsOfAKind+slotOf("", scope.Consent))
	}
	return list
}

// moneyNames are what two jobs of one transaction must not share: each has to
// see what the other took.
func moneyNames(scope *deed.Scope) []string {
	var names []string
	for _, query := range scope.Budgets {
		names = append(names, fmt.Sprintf("b%s\x00%s\x00%s", query.Budget.Name, query.Budget.Currency, query.Scope))
	}
	if scope.Consent != "" {
		names = append(names, "c"+scope.Consent)
	}
	return names
}
