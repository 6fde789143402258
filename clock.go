// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "time"

// Clock tells the time. The system clock is used where none is given; tests
// and skewed builds inject their own.
type Clock interface {
	Now() time.Time
	// After returns a channel that delivers once the duration has passed on
	// this clock.
	After(time.Duration) <-chan time.Time
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now returns the current time with its monotonic reading.
func (SystemClock) Now() time.Time { return time.Now() }

// After is time.After.
func (SystemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// stopwatch measures elapsed time as the larger of wall and monotonic time.
// Go's monotonic clock stands still while the machine sleeps, and the wall
// clock may be set back: only the larger of the two is safe for deciding that
// it is still early enough to send.
type stopwatch struct {
	clock Clock
	start time.Time
}

func startWatch(clock Clock) stopwatch { return stopwatch{clock, clock.Now()} }

func (w stopwatch) elapsed() time.Duration {
	now := w.clock.Now()
	monotonic := now.Sub(w.start)
	wall := now.Round(0).Sub(w.start.Round(0))
	return max(monotonic, wall)
}
