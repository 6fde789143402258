// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"sync"
	"time"
)

// Clock is a deed.Clock that stands still until it is moved.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	alarms []alarm
}

type alarm struct {
	at   time.Time
	ring chan time.Time
}

// NewClock returns a clock that shows start.
func NewClock(start time.Time) *Clock {
	return &Clock{now: start}
}

// Now returns the time shown.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After returns a channel that delivers once the clock has been moved by d.
func (c *Clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ring := make(chan time.Time, 1)
	c.alarms = append(c.alarms, alarm{c.now.Add(d), ring})
	c.ring()
	return ring
}

// Advance moves the clock on and rings what became due.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.ring()
}

// Waiting returns how many channels of After have not rung.
func (c *Clock) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.alarms)
}

// WaitingFor returns how many channels of After will ring when the clock has been
// moved by d and no sooner. A test that waits for a certain timer asks so: how many
// others there are depends on who was scheduled first.
func (c *Clock) WaitingFor(d time.Duration) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, a := range c.alarms {
		if a.at.Equal(c.now.Add(d)) {
			n++
		}
	}
	return n
}

func (c *Clock) ring() {
	waiting := c.alarms[:0]
	for _, a := range c.alarms {
		if c.now.Before(a.at) {
			waiting = append(waiting, a)
			continue
		}
		a.ring <- c.now
	}
	c.alarms = waiting
}
