// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"crypto/rand"
	"io"
	"time"
)

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

// crockford is the base32 alphabet without I, L, O and U.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// newID returns prefix and 26 characters: 48 bits of milliseconds and 80 of
// randomness, in Crockford's base32.
func newID(prefix string, now time.Time, random io.Reader) string {
	var raw [16]byte
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		raw[i] = byte(ms >> (40 - 8*i))
	}
	mustRead(random, raw[6:])
	out := make([]byte, 0, len(prefix)+26)
	out = append(out, prefix...)
	// 128 bits in 26 digits of 5: the first digit holds the top 3.
	var acc uint32
	bits := 2
	for _, b := range raw {
		acc = acc<<8 | uint32(b)
		bits += 8
		for bits >= 5 {
			bits -= 5
			out = append(out, crockford[acc>>bits&31])
		}
	}
	return string(out)
}

func newOperationID(now time.Time, random io.Reader) OperationID {
	return OperationID(newID("op_", now, random))
}

func newEventID(now time.Time, random io.Reader) EventID {
	return EventID(newID("ev_", now, random))
}

// newNonce returns 16 random bytes in base32.
func newNonce(random io.Reader) string {
	var raw [16]byte
	mustRead(random, raw[:])
	const digits = "abcdefghijklmnopqrstuvwxyz234567"
	out := make([]byte, 0, 26)
	var acc uint32
	bits := 0
	for _, b := range raw {
		acc = acc<<8 | uint32(b)
		bits += 8
		for bits >= 5 {
			bits -= 5
			out = append(out, digits[acc>>bits&31])
		}
	}
	return string(out)
}

// mustRead fills buf. The system's source does not fail (crypto/rand), and an
// injected one that does leaves no identity that could be trusted.
func mustRead(random io.Reader, buf []byte) {
	if _, err := io.ReadFull(random, buf); err != nil {
		panic("deed: the source of randomness failed: " + err.Error())
	}
}

var systemRandom io.Reader = rand.Reader
