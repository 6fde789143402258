// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

// runner sends what people have approved, where the rule leaves that to the
// gateway. Any number of gateways may run beside each other: one begins.
type runner struct {
	core *Core
	end  context.CancelFunc
	work sync.WaitGroup

	mu   sync.Mutex
	next map[deed.OperationID]attempted
}

// attempted is when an operation that could not be begun is tried again.
type attempted struct {
	at    time.Time
	pause time.Duration
}

const (
	runEvery     = 2 * time.Second
	runAtOnce    = 100
	firstRetry   = 5 * time.Second
	longestRetry = 5 * time.Minute
)

func startRunner(core *Core) *runner {
	ctx, end := context.WithCancel(context.Background())
	r := &runner{core: core, end: end, next: map[deed.OperationID]attempted{}}
	r.work.Go(func() { r.loop(ctx) })
	return r
}

func (r *runner) loop(ctx context.Context) {
	for {
		r.pass(ctx)
		select {
		case <-r.core.approved:
		case <-r.core.Clock.After(runEvery):
		case <-ctx.Done():
			return
		}
	}
}

// pass sends what is ready, each on its own: one slow tool holds up no other.
func (r *runner) pass(ctx context.Context) {
	// All of them: the oldest may be those that this process does not send.
	ready, err := r.core.Runtime.Ready(ctx, math.MaxInt)
	if err != nil {
		return // recovery tells of a ledger that cannot be read
	}
	waiting := map[deed.OperationID]bool{}
	begun := 0
	for _, op := range ready {
		waiting[op.ID] = true
		if begun < runAtOnce && r.core.sendsTo(op) && r.take(op.ID) {
			begun++
			r.work.Go(func() { r.run(ctx, op) })
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.next {
		if !waiting[id] {
			delete(r.next, id)
		}
	}
}

// sendsTo reports whether this process would send an operation to where it was
// approved for, under rules that ask for consent too: a gateway with another
// configuration on the same ledger knows nothing of the budget either, and where
// calls are only observed, the caller's own may have run unrecorded.
func (c *Core) sendsTo(op *deed.Operation) bool {
	_, here := c.upstreams[op.Tool.Upstream()]
	if !here || c.identityOf(op.Tool.Upstream()) != op.UpstreamIdentity {
		return false
	}
	rule := c.Policy.Rule(op.Tool, deed.ToolFacts{Definition: op.Definition, UpstreamIdentity: op.UpstreamIdentity})
	return rule.Mode != deed.ModeObserve && (rule.Approval != nil || rule.NeedsApproval != nil)
}

// take reports whether the operation may be tried now, and reserves it.
func (r *runner) take(id deed.OperationID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.core.Clock.Now()
	last := r.next[id]
	if now.Before(last.at) {
		return false
	}
	pause := min(max(2*last.pause, firstRetry), longestRetry)
	r.next[id] = attempted{at: now.Add(pause), pause: pause}
	return true
}

func (r *runner) run(ctx context.Context, op *deed.Operation) {
	l, meta, err := r.core.calls.open(ctx, op.Tool.Upstream())
	if err == nil {
		// What was begun goes on while the gateway drains; only nobody waits here.
		_, err = r.core.gate.RunApproved(ctx, l, meta, op.Tenant, op.ID)
	}
	var moved *deed.RefusedError
	if err != nil && ctx.Err() == nil && !errors.As(err, &moved) && !errors.Is(err, deed.ErrClosed) {
		r.core.log(fmt.Sprintf("%s is approved and was not sent: %s; it is tried again", op.ID, deed.Whole(err)))
	}
}

func (r *runner) stop() {
	r.end()
	r.work.Wait()
}

// callersOwn is why a request of a route is not sent from here: what travels
// beside its snapshot, such as the caller's credentials, is the caller's.
const callersOwn = "requests of an HTTP route are sent for their callers alone; nothing was sent; where an attempt is allowed, the caller's next request under the same key makes it; of an uncertain one, look at the API and say what happened: deed ops reconcile, where the route is looked up, or deed ops resolve"

// programsOwn is why an operation of a program is not sent from here: only the
// program knows how.
const programsOwn = "tools of a program are run by it alone; nothing was sent; where an attempt is allowed, the program's next claim or call under the same key makes it; of an uncertain one, look at the provider and say what happened: deed ops resolve"

// RunStored sends the frozen snapshot of an operation again, for a person with
// the right to resolve, where the operation allows an attempt. Those of HTTP
// routes and of programs are refused with a *deed.RefusedError.
func (c *Core) RunStored(ctx context.Context, who deed.Principal, op *deed.Operation) (deed.Answer, error) {
	if _, known := c.upstreams[op.Tool.Upstream()]; !known {
		if _, routed := c.Config.HTTP[op.Tool.Upstream()]; routed {
			return deed.Answer{}, &deed.RefusedError{Operation: op, Event: deed.EventBegun, Hint: callersOwn}
		}
		if _, own := c.Config.Programs[op.Tool.Upstream()]; own {
			return deed.Answer{}, &deed.RefusedError{Operation: op, Event: deed.EventBegun, Hint: programsOwn}
		}
		return deed.Answer{}, fmt.Errorf("%s: %s: %w; nothing was sent", op.ID, op.Tool, errUnreachable)
	}
	l, meta, err := c.calls.open(ctx, op.Tool.Upstream())
	if err != nil {
		return deed.Answer{}, fmt.Errorf("%s: %w; nothing was sent", op.ID, err)
	}
	return c.gate.RunStored(ctx, l, meta, who, op.ID)
}

// asksPeople reports whether any tool of the configuration waits for consent:
// otherwise clients are promised nothing about calls that wait.
func asksPeople(config *policy.Config) bool {
	for _, tool := range config.Tools {
		if tool.Approval != nil {
			return true
		}
	}
	return false
}
