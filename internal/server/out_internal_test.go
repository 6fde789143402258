// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"testing"
	"time"
)

func TestWhichClaimsAreOut(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	o := newClaimsOut()
	s := &Server{Options: Options{Clock: fixed(now)}, out: o}
	over, end := context.WithCancel(t.Context())
	end()
	if left := s.AwaitClaims(t.Context(), nil); left != 0 {
		t.Fatalf("nothing was given, and %d are out", left)
	}
	o.gave(attemptOut{"", "op_1", 1}, now.Add(time.Hour), now)
	o.gave(attemptOut{"", "op_1", 2}, now.Add(time.Hour), now)
	o.gave(attemptOut{"", "op_2", 1}, now.Add(time.Millisecond), now)
	o.gave(attemptOut{"", "op_3", 1}, now, now) // its lease is over
	if left := s.AwaitClaims(over, nil); left != 3 {
		t.Errorf("%d are out, want 3", left)
	}
	o.gave(attemptOut{"", "op_1", 1}, now.Add(2*time.Hour), now) // renewed
	o.settled(attemptOut{"", "op_1", 1})
	o.settled(attemptOut{"", "op_1", 1}) // again
	o.settled(attemptOut{"", "op_9", 1}) // another gateway's
	if left := s.AwaitClaims(over, nil); left != 2 {
		t.Errorf("%d are out, want 2", left)
	}
	gone := make(chan struct{})
	ended := make(chan int)
	go func() { ended <- s.AwaitClaims(t.Context(), gone) }()
	close(gone)
	if left := <-ended; left != 2 {
		t.Errorf("where nobody can settle %d are out, want 2", left)
	}
	waited := make(chan int)
	go func() { waited <- s.AwaitClaims(t.Context(), nil) }()
	o.settled(attemptOut{"", "op_2", 1})
	o.settled(attemptOut{"", "op_1", 2})
	if left := <-waited; left != 0 {
		t.Errorf("%d are out, want none", left)
	}
	for n := range 3 * sweepAt {
		o.gave(attemptOut{"", "op_4", n}, now.Add(-time.Second), now)
	}
	if kept := len(o.leases); kept > sweepAt {
		t.Errorf("%d claims are kept whose leases are over", kept)
	}
}

type fixed time.Time

func (f fixed) Now() time.Time                       { return time.Time(f) }
func (f fixed) After(time.Duration) <-chan time.Time { return nil }
