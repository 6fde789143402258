// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"time"

	"github.com/deed-run/deed"
)

// attempts binds them as JSON, NULL when there are none.
func (s *statement) attempts(attempts []deed.Attempt) {
	kept := make([]deed.Attempt, len(attempts))
	for i, a := range attempts {
		a.BegunAt, a.SendBy, a.EndedAt = ledgerTime(a.BegunAt), ledgerTime(a.SendBy), ledgerTime(a.EndedAt)
		if len(a.Bookings) > 0 {
			a.Bookings = append([]deed.Booking(nil), a.Bookings...)
			for j := range a.Bookings {
				a.Bookings[j].At = ledgerTime(a.Bookings[j].At)
			}
		}
		kept[i] = a
	}
	if len(kept) == 0 {
		s.optional(nil)
		return
	}
	text, err := attemptsText(kept)
	s.keep(err)
	s.optional(text)
}

func (s *statement) readAttempts() []deed.Attempt {
	var attempts []deed.Attempt
	s.readDocument(&attempts)
	return attempts
}

// approval binds the consent as JSON, NULL when there is none.
func (s *statement) approval(approval *deed.Approval) {
	if approval == nil {
		s.document(nil, true)
		return
	}
	kept := *approval
	kept.ExpiresAt, kept.SpentAt, kept.AskedAt = ledgerTime(kept.ExpiresAt), ledgerTime(kept.SpentAt), ledgerTime(kept.AskedAt)
	kept.Votes = append([]deed.Vote(nil), approval.Votes...)
	for i := range kept.Votes {
		kept.Votes[i].At = ledgerTime(kept.Votes[i].At)
	}
	s.document(kept, false)
}

// ledgerTime is the time as a column would keep it.
func ledgerTime(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return fromMicros(micros(t))
}
