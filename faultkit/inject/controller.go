// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package inject

import (
	"context"
	"sync"
)

// Controller is the Judge of a test: it follows plans, counts calls and says when
// a mishap has happened. The zero value lets everything pass.
type Controller struct {
	mu      sync.Mutex
	plans   []*progress
	calls   []Seen
	struck  int
	changed chan struct{}
}

// progress is a plan and how many calls it has looked at.
type progress struct {
	Plan
	looked int
}

// NewController returns a controller that follows the plans.
func NewController(plans ...Plan) *Controller {
	c := &Controller{}
	c.Follow(plans...)
	return c
}

// Follow replaces the plans. The first one that strikes decides.
func (c *Controller) Follow(plans ...Plan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plans = nil
	for _, p := range plans {
		c.plans = append(c.plans, &progress{Plan: p})
	}
}

// Judge implements Judge.
func (c *Controller) Judge(_ context.Context, call Seen) (Mishap, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call)
	c.signal()
	decided := None
	for _, p := range c.plans {
		if mishap := p.look(call); decided == None {
			decided = mishap
		}
	}
	if decided == Duplicate {
		c.calls = append(c.calls, call)
	}
	return decided, nil
}

func (p *progress) look(call Seen) Mishap {
	if p.Tool != "" && p.Tool != call.Tool {
		return None
	}
	p.looked++
	first := max(p.Nth, 1)
	if p.looked < first || p.Times >= 0 && p.looked >= first+max(p.Times, 1) {
		return None
	}
	return p.Mishap
}

// Struck implements Judge.
func (c *Controller) Struck(context.Context, Mishap) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.struck++
	c.signal()
}

// signal wakes those who wait; the caller holds the lock.
func (c *Controller) signal() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// Calls returns the calls that were passed on to the server, copies included.
func (c *Controller) Calls() []Seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Seen(nil), c.calls...)
}

// AwaitStruck waits until n mishaps have happened since the controller was made.
func (c *Controller) AwaitStruck(ctx context.Context, n int) error {
	return c.await(ctx, func() bool { return c.struck >= n })
}

// AwaitCalls waits until n calls were passed on.
func (c *Controller) AwaitCalls(ctx context.Context, n int) error {
	return c.await(ctx, func() bool { return len(c.calls) >= n })
}

func (c *Controller) await(ctx context.Context, enough func() bool) error {
	for {
		c.mu.Lock()
		if enough() {
			c.mu.Unlock()
			return nil
		}
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// StruckCount returns how many mishaps have happened.
func (c *Controller) StruckCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.struck
}
