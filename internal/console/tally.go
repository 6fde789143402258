// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

// minutes is how far a Tally remembers.
const minutes = 60

// maxTallied bounds the tenants of which a Tally keeps count.
const maxTallied = 1000

// Tally counts what this process decided in the last hour. Let it hear every
// event that is recorded, as deed.Observer.Recorded does; it is safe for
// concurrent use.
type Tally struct {
	clock   deed.Clock
	mu      sync.Mutex
	tenants map[deed.Tenant]*hour
}

// hour holds the counts of the last sixty minutes, each in the place of its
// minute modulo sixty.
type hour [minutes]struct {
	minute int64
	counts map[deed.Decision]int
}

// NewTally returns an empty one; a nil clock is the system's.
func NewTally(clock deed.Clock) *Tally {
	if clock == nil {
		clock = deed.SystemClock{}
	}
	return &Tally{clock: clock, tenants: map[deed.Tenant]*hour{}}
}

// Recorded counts an event that tells of a decision; others are not counted.
func (t *Tally) Recorded(_ context.Context, event deed.Event) {
	decision, ok := decisionOf(event)
	if !ok {
		return
	}
	minute := t.clock.Now().Unix() / 60
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.tenants[event.Tenant]
	if h == nil {
		if len(t.tenants) >= maxTallied {
			return
		}
		h = &hour{}
		t.tenants[event.Tenant] = h
	}
	slot := &h[minute%minutes]
	if slot.minute != minute || slot.counts == nil {
		slot.minute, slot.counts = minute, map[deed.Decision]int{}
	}
	slot.counts[decision]++
}

func decisionOf(event deed.Event) (deed.Decision, bool) {
	switch event.Name {
	case deed.EventBegun, deed.EventContinued:
		return deed.Execute, true
	}
	for _, d := range decisions() {
		if string(d) == string(event.Name) {
			return d, true
		}
	}
	return "", false
}

func decisions() []deed.Decision {
	return []deed.Decision{
		deed.Execute, deed.Replay, deed.InProgress, deed.Conflict, deed.AwaitingApproval, deed.Denied, deed.Uncertain, deed.Failed, deed.Expired,
	}
}

// decided is one decision's count with its course over the hour.
type decided struct {
	Decision deed.Decision
	Count    int
	Bars     []bar
}

// bar is five minutes of a course, as a rectangle in a picture 20 high.
type bar struct{ X, Y, Height int }

const barEvery = 5

// of returns the counts of a tenant, those that occurred.
func (t *Tally) of(tenant deed.Tenant) []decided {
	now := t.clock.Now().Truncate(time.Minute).Unix() / 60
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.tenants[tenant]
	if h == nil {
		return nil
	}
	var list []decided
	for _, d := range decisions() {
		one := decided{Decision: d}
		var course [minutes / barEvery]int
		highest := 1
		for _, slot := range h {
			age := now - slot.minute
			if n := slot.counts[d]; n > 0 && age >= 0 && age < minutes {
				one.Count += n
				place := len(course) - 1 - int(age)/barEvery
				course[place] += n
				highest = max(highest, course[place])
			}
		}
		for i, n := range course {
			height := 0
			if n > 0 {
				height = max(2, n*20/highest)
			}
			one.Bars = append(one.Bars, bar{i * 8, 20 - height, height})
		}
		if one.Count > 0 {
			list = append(list, one)
		}
	}
	return list
}
