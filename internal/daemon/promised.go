// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

// promised reads the tasks of uncertain operations: the tool took the call and
// promised its result, and the process that waited for it is gone. A result that
// is there proves the commit. Any number of gateways may read: the same proof
// again adds nothing.
type promised struct {
	core *Core
	end  context.CancelFunc
	work sync.WaitGroup
	next map[deed.OperationID]attempted
}

const (
	promisesEvery   = 5 * time.Second
	promisesLongest = time.Minute
	promisesPage    = 1000
	// promisesAtOnce bounds how many are read in one pass, one after another.
	promisesAtOnce = 20
	byTask         = deed.ByReconcile + "task"
)

func startPromised(core *Core) *promised {
	ctx, end := context.WithCancel(context.Background())
	p := &promised{core: core, end: end, next: map[deed.OperationID]attempted{}}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(core.upstreams)), core.lasting) {
		return p // there is nobody to ask: what is uncertain need not be read through
	}
	p.work.Go(func() {
		for {
			p.pass(ctx)
			select {
			case <-core.Clock.After(promisesEvery):
			case <-ctx.Done():
				return
			}
		}
	})
	return p
}

// stop does not wait for a server that says nothing: a read changes nothing there.
func (p *promised) stop() {
	p.end()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.work.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(lookUpsEnd):
	}
}

// taskOf is the task that may still tell what became of an uncertain operation,
// as far as this process may ask: where its call went, and not for ever. A server
// that a command starts began anew with this gateway, and may have given the same id
// to another call since.
func (c *Core) taskOf(op *deed.Operation, now time.Time) (attempt deed.Attempt, ok bool) {
	if op.EffectiveState(now) != deed.StateUncertain || len(op.Attempts) == 0 {
		return deed.Attempt{}, false
	}
	last := op.Attempts[len(op.Attempts)-1]
	name := op.Tool.Upstream()
	_, here := c.upstreams[name]
	rule := c.Policy.Rule(op.Tool, deed.ToolFacts{})
	until := last.BegunAt.Add(rule.TimeoutHard + rule.Late)
	return last, last.TaskID != "" && last.Open() && here && c.lasting(name) && c.identityOf(name) == op.UpstreamIdentity && now.Before(until)
}

// lasting reports whether a server outlives the gateway.
func (c *Core) lasting(upstream string) bool { return len(c.Config.Upstreams[upstream].Command) == 0 }

// pass reads what is due. Of a ledger that cannot be read, recovery tells.
func (p *promised) pass(ctx context.Context) {
	tenants, err := p.core.Ledger.Tenants(ctx)
	if err != nil {
		return
	}
	now := p.core.Clock.Now()
	open := map[deed.OperationID]bool{}
	var due []promise
	for _, tenant := range tenants {
		query := deed.Query{Tenant: tenant, Statuses: []deed.Status{deed.StatusUncertain}, Effective: now, Limit: promisesPage}
		for {
			page, err := p.core.Ledger.List(ctx, query)
			if err != nil {
				return
			}
			for _, op := range page.Operations {
				attempt, ok := p.core.taskOf(op, now)
				if !ok {
					if _, read := p.next[op.ID]; read {
						p.core.tellPerson(ctx, op)
					}
					continue
				}
				open[op.ID] = true
				if last := p.next[op.ID]; !now.Before(last.at) {
					due = append(due, promise{op, attempt, last.at})
				}
			}
			if query.Before = page.Next; page.Next == "" {
				break
			}
		}
	}
	maps.DeleteFunc(p.next, func(id deed.OperationID, _ attempted) bool { return !open[id] })
	for _, d := range p.take(due, now) {
		p.read(ctx, d.op, d.attempt)
	}
}

// promise is a task that may be read.
type promise struct {
	op      *deed.Operation
	attempt deed.Attempt
	due     time.Time
}

// take picks whose turn it is and reserves them: those that have waited longest, so
// that among more than can be read none is passed over.
func (p *promised) take(due []promise, now time.Time) []promise {
	slices.SortStableFunc(due, func(a, b promise) int { return a.due.Compare(b.due) })
	due = due[:min(len(due), promisesAtOnce)]
	for _, d := range due {
		pause := min(max(2*p.next[d.op.ID].pause, promisesEvery), promisesLongest)
		p.next[d.op.ID] = attempted{at: now.Add(pause), pause: pause}
	}
	return due
}

// givenBy is when the attempt had its task at the latest.
func givenBy(attempt deed.Attempt, rule deed.Rule) time.Time {
	by := attempt.SendBy.Add(rule.Timeout)
	if ended := attempt.EndedAt; !ended.IsZero() && ended.Before(by) {
		return ended
	}
	return by
}

func (p *promised) read(ctx context.Context, op *deed.Operation, attempt deed.Attempt) {
	l, _, err := p.core.calls.open(ctx, op.Tool.Upstream())
	if err != nil {
		return // it is read again
	}
	out, ended, err := p.core.gate.ReadTask(ctx, l, op.Tool, attempt.TaskID, givenBy(attempt, p.core.Policy.Rule(op.Tool, deed.ToolFacts{})))
	switch {
	case err != nil || !ended:
		return
	case out.Kind != deed.OutcomeSuccess:
		p.core.tellPerson(ctx, op) // a task that failed may have done part of its work
		return
	}
	_, err = p.core.Runtime.Prove(ctx, deed.Proof{
		Tenant: op.Tenant, Operation: op.ID, Attempt: attempt.Number, EstablishedBy: byTask, Result: out.Result,
		RemoteID: out.Receipt.RemoteID, RemoteURL: out.Receipt.RemoteURL, Items: out.Receipt.Items,
		Evidence: "the task that the call was given has completed",
	})
	if err != nil && ctx.Err() == nil {
		p.core.log(fmt.Sprintf("%s: the task of its call has completed, and that could not be recorded: %v; it is read again", op.ID, err))
	}
}

// tellPerson tells the webhooks that the task of an uncertain operation says
// nothing of it.
func (c *Core) tellPerson(ctx context.Context, op *deed.Operation) {
	if c.doubts == nil || c.notices == nil {
		return
	}
	now := c.Clock.Now()
	c.doubts.tell(ctx, deed.Event{
		ID: eventID(now), Tenant: op.Tenant, OperationID: op.ID, Tool: op.Tool, Attempt: op.AttemptNumber(), At: now, Name: deed.EventGaveUp, Actor: deed.Actor(byTask),
	}, op)
}
