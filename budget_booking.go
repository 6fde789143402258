// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"slices"
	"time"
)

// BookingState says what became of money that was set aside.
type BookingState string

const (
	// BookingHeld: the outcome is open; it counts whatever its age.
	BookingHeld BookingState = "held"
	// BookingSpent: committed, or given up on; it counts by its time.
	BookingSpent BookingState = "spent"
	// BookingReleased: not applied; it does not count.
	BookingReleased BookingState = "released"
)

// Booking is money that one attempt takes from a budget. Stores keep every
// booking of an operation's attempts as a row, by which [View].Budgets adds up.
type Booking struct {
	Budget string `json:"budget"`
	// Scope is whose share of the budget it is: see [Budget.Share].
	Scope    string `json:"scope,omitempty"`
	Currency string `json:"currency,omitempty"`
	// Amount is what counts now; Reserved is what was set aside at first where
	// the provider said another sum.
	Amount   Amount       `json:"amount_micros"`
	Reserved Amount       `json:"reserved_micros,omitempty"`
	State    BookingState `json:"state"`
	// At is when the attempt was dispatched.
	At time.Time `json:"booked_at"`
}

// holds reports whether money is set aside for the operation already: another
// attempt of the same action takes it over.
func (op *Operation) holds() bool {
	return op.countBookings(func(b *Booking) bool { return b.State == BookingHeld }) > 0
}

// held adds up what the operation holds of one share of a budget.
func (op *Operation) held(budget, share string) (sum Amount) {
	for i := range op.Attempts {
		for _, b := range op.Attempts[i].Bookings {
			if b.State == BookingHeld && b.Budget == budget && b.Scope == share {
				sum = sum.Plus(b.Amount)
			}
		}
	}
	return sum
}

// countBookings counts the bookings that match.
func (op *Operation) countBookings(match func(*Booking) bool) int {
	n := 0
	for i := range op.Attempts {
		for j := range op.Attempts[i].Bookings {
			if match(&op.Attempts[i].Bookings[j]) {
				n++
			}
		}
	}
	return n
}

// account settles the operation's money after an event: released where it is
// known or decided that nothing was applied, spent where it was, also after a
// release, once for every effect that is proved; held while nobody knows.
func account(op *Operation, c cause) {
	if op.countBookings(func(*Booking) bool { return true }) == 0 {
		return
	}
	switch op.State() {
	case StateFailedRetryable, StateFailedFinal, StateCancelled, StateDenied:
		op.rebook(func(b *Booking) { b.State = BookingReleased })
	case StateAbandoned:
		op.rebook(spend)
	case StateExecuting:
		// A proof of an earlier attempt, while the next one runs.
		if c.actual != nil {
			op.rebook(func(*Booking) {})
			if op.countBookings(counts) == 0 {
				op.bookAgain(op.provedAttempt(c))
			}
			op.charge(c)
		}
	case StateCommitted:
		op.rebook(spend)
		for op.countBookings(counts) < op.effects() {
			op.bookAgain(op.provedAttempt(c))
		}
		if c.actual != nil {
			op.charge(c)
		}
	}
}

func counts(b *Booking) bool { return b.State != BookingReleased }

func spend(b *Booking) {
	if b.State == BookingHeld {
		b.State = BookingSpent
	}
}

// rebook changes every booking, in slices of the operation's own.
func (op *Operation) rebook(change func(*Booking)) {
	for i := range op.Attempts {
		a := &op.Attempts[i]
		a.Bookings = slices.Clone(a.Bookings)
		for j := range a.Bookings {
			change(&a.Bookings[j])
		}
	}
}

// provedAttempt is the attempt that a proof is about.
func (op *Operation) provedAttempt(c cause) int {
	if c.attempt > 0 && c.attempt <= len(op.Attempts) {
		return c.attempt
	}
	return op.AttemptNumber()
}

// bookAgain counts one more effect, at the time of its attempt: a released
// booking of the attempt comes back, or a further one is added.
func (op *Operation) bookAgain(number int) {
	a := op.attempt(number)
	for j := range a.Bookings {
		if a.Bookings[j].State == BookingReleased {
			a.Bookings[j].State = BookingSpent
			return
		}
	}
	var pattern Booking
	for i := range op.Attempts {
		if list := op.Attempts[i].Bookings; len(list) > 0 {
			pattern = list[0]
		}
	}
	if pattern.Reserved != 0 {
		pattern.Amount, pattern.Reserved = pattern.Reserved, 0
	}
	pattern.State, pattern.At = BookingSpent, a.BegunAt
	a.Bookings = append(slices.Clip(a.Bookings), pattern)
}

// charge records what the effect did cost, also where that is more than was
// set aside.
func (op *Operation) charge(c cause) {
	// Its own money or that which it took over; else what a later attempt holds
	// for the same effect.
	number := op.provedAttempt(c)
	for i := range op.Attempts {
		at := number - i
		if at < 1 {
			at = i + 1
		}
		holder := op.attempt(at)
		for j := len(holder.Bookings) - 1; j >= 0; j-- {
			b := &holder.Bookings[j]
			if !counts(b) {
				continue
			}
			if b.Amount != *c.actual {
				b.Reserved, b.Amount = b.Amount, *c.actual
			}
			return
		}
	}
}

// effects counts what the receipts prove: each remote object, and each attempt
// that is proved without one.
func (op *Operation) effects() int {
	named := map[string]bool{}
	attempts := map[int]bool{}
	stated := false
	for _, r := range op.Receipts {
		if r.RemoteID != "" {
			named[r.RemoteSystem+"\x00"+r.RemoteID] = true
			attempts[r.Attempt] = true
			stated = stated || r.Established == EstablishedStated
		}
	}
	n := len(named)
	for _, r := range op.Receipts {
		if r.RemoteID == "" && !attempts[r.Attempt] && !stated {
			attempts[r.Attempt] = true
			n++
		}
	}
	return n
}
