// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"math"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

// refunds is a budget of 100 with a window of a day.
var refunds = deed.Budget{Name: "refunds", Limit: units(100), Currency: "EUR", Window: 24 * time.Hour}

func units(n int64) deed.Amount { return deed.Amount(n * 1_000_000) }

// booked returns a new operation whose attempt takes n units of the budget.
func (f *fixture) booked(n int64, state deed.BookingState, at time.Time) *deed.Operation {
	op := f.operation()
	op.Attempts[0].Bookings = []deed.Booking{{Budget: "refunds", Currency: "EUR", Amount: units(n), State: state, At: at}}
	return op
}

func (f *fixture) sums(queries ...deed.BudgetQuery) []deed.BudgetSum {
	f.Helper()
	return f.load(deed.Scope{Tenant: tenant, Budgets: queries}).Budgets
}

func sumOf(held, spent int64) deed.BudgetSum {
	return deed.BudgetSum{Budget: "refunds", Currency: "EUR", Held: units(held), Spent: units(spent)}
}

var budgetCases = []testCase{
	{"a budget that nothing was taken from has given out nothing", func(f *fixture) {
		f.equal("sums", f.sums(deed.BudgetQuery{Budget: refunds}), []deed.BudgetSum{sumOf(0, 0)})
		f.equal("shares", f.sums(deed.BudgetQuery{Budget: refunds, Every: true}), []deed.BudgetSum(nil))
	}},
	{"held money counts whatever its age, spent money within the window, released money never", func(f *fixture) {
		now := f.clock.Now()
		f.put(f.booked(1, deed.BookingHeld, now.Add(-100*24*time.Hour)))
		f.put(f.booked(2, deed.BookingHeld, now))
		f.put(f.booked(4, deed.BookingSpent, now.Add(-24*time.Hour+time.Microsecond)))
		f.put(f.booked(8, deed.BookingSpent, now.Add(-24*time.Hour)))
		f.put(f.booked(16, deed.BookingReleased, now))
		f.equal("sums", f.sums(deed.BudgetQuery{Budget: refunds}), []deed.BudgetSum{sumOf(3, 4)})
		f.clock.Advance(time.Microsecond)
		f.equal("sums a moment later", f.sums(deed.BudgetQuery{Budget: refunds}), []deed.BudgetSum{sumOf(3, 0)})
	}},
	{"without a window spent money counts for ever", func(f *fixture) {
		f.put(f.booked(4, deed.BookingSpent, f.clock.Now().Add(-10000*time.Hour)))
		ever := refunds
		ever.Window = 0
		f.equal("sums", f.sums(deed.BudgetQuery{Budget: ever}), []deed.BudgetSum{sumOf(0, 4)})
	}},
	{"calendar budgets count from the boundary on, in UTC", func(f *fixture) {
		// The clock starts on a Sunday at noon.
		day := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
		f.put(f.booked(1, deed.BookingSpent, day))
		f.put(f.booked(2, deed.BookingSpent, day.Add(-time.Microsecond)))
		f.put(f.booked(4, deed.BookingSpent, day.AddDate(0, 0, -6)))
		f.put(f.booked(8, deed.BookingSpent, day.AddDate(0, 0, -6).Add(-time.Microsecond)))
		f.put(f.booked(16, deed.BookingSpent, day.AddDate(0, 0, -28)))
		f.put(f.booked(32, deed.BookingSpent, day.AddDate(0, 0, -28).Add(-time.Microsecond)))
		for calendar, want := range map[string]int64{"day": 1, "week": 1 + 2 + 4, "month": 1 + 2 + 4 + 8 + 16} {
			budget := refunds
			budget.Calendar = calendar
			f.equal(calendar, f.sums(deed.BudgetQuery{Budget: budget}), []deed.BudgetSum{sumOf(0, want)})
		}
	}},
	{"budgets, shares, currencies and tenants are kept apart", func(f *fixture) {
		now := f.clock.Now()
		for i, change := range []func(*deed.Operation, *deed.Booking){
			func(*deed.Operation, *deed.Booking) {},
			func(_ *deed.Operation, b *deed.Booking) { b.Budget = "payouts" },
			func(_ *deed.Operation, b *deed.Booking) { b.Scope = "actor:support" },
			func(_ *deed.Operation, b *deed.Booking) { b.Scope = "actor:finance" },
			func(_ *deed.Operation, b *deed.Booking) { b.Currency = "USD" },
			func(op *deed.Operation, _ *deed.Booking) { op.Tenant = "umbrella" },
		} {
			op := f.booked(1<<i, deed.BookingHeld, now)
			change(op, &op.Attempts[0].Bookings[0])
			f.put(op)
		}
		support, finance := sumOf(4, 0), sumOf(8, 0)
		support.Scope, finance.Scope = "actor:support", "actor:finance"
		f.equal("shares that were named, in order", f.sums(
			deed.BudgetQuery{Budget: refunds, Scope: "actor:support"}, deed.BudgetQuery{Budget: refunds},
			deed.BudgetQuery{Budget: refunds, Scope: "actor:finance"},
		), []deed.BudgetSum{support, sumOf(1, 0), finance})
		f.equal("every share", f.sums(deed.BudgetQuery{Budget: refunds, Every: true}), []deed.BudgetSum{sumOf(1, 0), finance, support})
	}},
	{"a booking follows its operation, and several of one operation add up", func(f *fixture) {
		now := f.clock.Now()
		op := f.booked(5, deed.BookingHeld, now)
		f.put(op)
		f.move(op.ID, func(op *deed.Operation) {
			op.Attempts[0].Bookings[0].State, op.Attempts[0].Bookings[0].Reserved = deed.BookingSpent, units(5)
			op.Attempts[0].Bookings[0].Amount = units(7)
			op.Attempts[0].Bookings = append(op.Attempts[0].Bookings, deed.Booking{Budget: "refunds", Currency: "EUR", Amount: units(5), State: deed.BookingSpent, At: now})
		})
		f.equal("spent", f.sums(deed.BudgetQuery{Budget: refunds}), []deed.BudgetSum{sumOf(0, 12)})
		f.move(op.ID, func(op *deed.Operation) {
			again := op.Attempts[0]
			again.Number, again.Bookings = 2, []deed.Booking{{Budget: "refunds", Currency: "EUR", Amount: units(1), State: deed.BookingHeld, At: now}}
			op.Attempts[0].Bookings[1].State = deed.BookingReleased
			op.Attempts = append(op.Attempts, again)
		})
		f.equal("released and booked again", f.sums(deed.BudgetQuery{Budget: refunds}), []deed.BudgetSum{sumOf(1, 7)})
		got := f.get(op.ID)
		f.equal("the operation's own", got.Attempts[0].Bookings[0].Amount, units(7))
		f.equal("its reservation", got.Attempts[0].Bookings[0].Reserved, units(5))
	}},
	{"a sum that is more than can be held is the greatest that can", func(f *fixture) {
		now := f.clock.Now()
		for range 10 {
			for _, state := range []deed.BookingState{deed.BookingHeld, deed.BookingSpent} {
				op := f.booked(0, state, now)
				op.Attempts[0].Bookings[0].Amount = units(1_000_000_000_000) - 1
				f.put(op)
			}
		}
		full := sumOf(0, 0)
		full.Held, full.Spent = math.MaxInt64, math.MaxInt64
		f.equal("one share", f.sums(deed.BudgetQuery{Budget: refunds}), []deed.BudgetSum{full})
		f.equal("every share", f.sums(deed.BudgetQuery{Budget: refunds, Every: true}), []deed.BudgetSum{full})
	}},
	{"a change sees what a budget has given out, and what it writes is seen after it", func(f *fixture) {
		op := f.booked(60, deed.BookingHeld, f.clock.Now())
		scope := deed.Scope{Tenant: tenant, Keys: []deed.Key{op.Key}, Budgets: []deed.BudgetQuery{{Budget: refunds}}}
		view := f.transact(scope, deed.Change{Put: []*deed.Operation{op}})
		f.equal("before", view.Budgets, []deed.BudgetSum{sumOf(0, 0)})
		f.equal("after", f.load(scope).Budgets, []deed.BudgetSum{sumOf(60, 0)})
	}},
	{"of fifty who take ten of a hundred exactly ten do", func(f *fixture) {
		candidates := make([]*deed.Operation, racers)
		for i := range candidates {
			candidates[i] = f.booked(10, deed.BookingHeld, f.clock.Now())
		}
		var mu sync.Mutex
		took := 0
		race(func(i int) {
			op := candidates[i]
			scope := deed.Scope{
				Tenant: tenant, Keys: []deed.Key{op.Key}, Tool: op.Tool, Fingerprints: []deed.Fingerprint{op.Fingerprint},
				Budgets: []deed.BudgetQuery{{Budget: refunds}},
			}
			_, err := f.store.Transact(f.context(), scope, func(view deed.View) (deed.Change, error) {
				if view.Budgets[0].Held+units(10) > refunds.Limit {
					return deed.Change{}, errFull
				}
				return deed.Change{Put: []*deed.Operation{op}}, nil
			})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				took++
			} else if !errors.Is(err, errFull) {
				f.Error(err)
			}
		})
		f.equal("took", took, 10)
		f.equal("sums", f.sums(deed.BudgetQuery{Budget: refunds}), []deed.BudgetSum{sumOf(100, 0)})
	}},
}

var errFull = errors.New("nothing left")

// consented returns a new authorized operation that used the consent.
func (f *fixture) consented(id string) *deed.Operation {
	op := f.operation()
	toStatus(op, deed.StatusAuthorized, f.clock.Now())
	f.consent(op, id)
	return op
}

func (f *fixture) consent(op *deed.Operation, id string) {
	op.Approval = &deed.Approval{
		Digest: digestOf("proposal"), ID: id, ExpiresAt: f.clock.Now().Add(time.Hour), Approvers: []string{"alice"},
		AskedAt: f.clock.Now(), AskedBy: "support", AskAgain: 60, Run: deed.RunOnApproval, Quorum: 1, MayApprove: []deed.Actor{"alice"}, Self: true,
		Votes: []deed.Vote{{Approver: "alice", At: f.clock.Now(), Reason: "fine", ConsentID: id}},
	}
}

var consentCases = []testCase{
	{"an approval is read back as it was written", func(f *fixture) {
		op := f.consented("jws-1")
		f.put(op)
		f.equal("approval", f.get(op.ID).Approval, op.Approval)
	}},
	{"a consent names the operation that it was spent for", func(f *fixture) {
		op := f.consented("jws-1")
		f.put(op)
		f.equal("spent for", f.load(deed.Scope{Tenant: tenant, Consent: "jws-1"}).ConsentBy, op.ID)
		f.equal("another one", f.load(deed.Scope{Tenant: tenant, Consent: "jws-2"}).ConsentBy, deed.OperationID(""))
		f.equal("another tenant's", f.load(deed.Scope{Tenant: "umbrella", Consent: "jws-1"}).ConsentBy, deed.OperationID(""))
	}},
	{"a consent is spent for one operation, for ever", func(f *fixture) {
		first, second := f.consented("jws-1"), f.consented("jws-1")
		f.put(first)
		_, err := f.store.Transact(f.context(), deed.Scope{Tenant: tenant, ID: second.ID}, func(deed.View) (deed.Change, error) {
			return deed.Change{Put: []*deed.Operation{second}}, nil
		})
		if !errors.Is(err, deed.ErrConsentSpent) {
			f.Errorf("err = %v", err)
		}
		f.equal("the second", f.get(second.ID), (*deed.Operation)(nil))
		f.move(first.ID, func(op *deed.Operation) { op.Approval = nil })
		f.equal("spent for", f.load(deed.Scope{Tenant: tenant, Consent: "jws-1"}).ConsentBy, first.ID)
	}},
	{"an operation that used a consent may be written again", func(f *fixture) {
		op := f.consented("jws-1")
		f.put(op)
		f.move(op.ID, func(op *deed.Operation) {
			op.Message = "again"
			op.Approval.Votes = append(op.Approval.Votes, deed.Vote{Approver: "bob", At: f.clock.Now(), ConsentID: "jws-2"})
		})
		f.equal("the later one", f.load(deed.Scope{Tenant: tenant, Consent: "jws-2"}).ConsentBy, op.ID)
	}},
	{"of fifty who spend one consent exactly one does, and the others see for what", func(f *fixture) {
		candidates := make([]*deed.Operation, racers)
		for i := range candidates {
			candidates[i] = f.consented("")
			candidates[i].Approval.Votes = nil
		}
		f.put(candidates...)
		var mu sync.Mutex
		won := map[deed.OperationID]int{}
		race(func(i int) {
			id := candidates[i].ID
			_, err := f.store.Transact(f.context(), deed.Scope{Tenant: tenant, ID: id, Consent: "jws-1"}, func(view deed.View) (deed.Change, error) {
				if view.ConsentBy != "" {
					mu.Lock()
					defer mu.Unlock()
					won[view.ConsentBy] = 0 + won[view.ConsentBy]
					return deed.Change{}, errThere
				}
				next := copyOperation(view.Operation)
				next.Version++
				f.consent(next, "jws-1")
				return deed.Change{Put: []*deed.Operation{next}}, nil
			})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won[id]++
			} else if !errors.Is(err, errThere) {
				f.Error(err)
			}
		})
		if len(won) != 1 {
			f.Errorf("the consent was seen as spent for %v", won)
		}
		for id, n := range won {
			f.equal("spent for "+string(id), n, 1)
		}
	}},
}
