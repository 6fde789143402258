// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

const (
	// linger is how long batched events wait for a transaction to ride with.
	linger = 50 * time.Millisecond
	// maxWaiting bounds the batched events in memory while nothing can be
	// written.
	maxWaiting = 1 << 16
	// retryAfter is the pause before batched events are tried again.
	retryAfter = time.Second
)

// queue hands out the jobs, one batch of a tenant at a time: batches of one
// tenant follow each other, so that its events keep their order.
type queue struct {
	maxBatch int

	mu      sync.Mutex
	tenants map[deed.Tenant]*line
	// ready are the lines that a writer may take from.
	ready  []*line
	wake   *sync.Cond
	events int
	closed bool
	// dropped is the first error of a batched append that was refused for what
	// it was; nobody waits for it.
	dropped error
}

// line holds the jobs of one tenant in the order of their arrival.
type line struct {
	tenant deed.Tenant
	jobs   []*job
	urgent int
	// busy: a writer has a batch of it. listed: it is in ready.
	busy, listed bool
	// due: its batched events have waited long enough.
	due   bool
	timer *time.Timer
}

func newQueue(maxBatch int) *queue {
	q := &queue{maxBatch: maxBatch, tenants: map[deed.Tenant]*line{}}
	q.wake = sync.NewCond(&q.mu)
	return q
}

func (q *queue) push(j *job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return closedError()
	case j.batched && q.events+len(j.events) > maxWaiting:
		return fmt.Errorf("%w: %d events already wait to be written; these %d were not taken", deed.ErrUnavailable, q.events, len(j.events))
	}
	at := q.tenants[j.tenant]
	if at == nil {
		at = &line{tenant: j.tenant}
		q.tenants[j.tenant] = at
	}
	at.jobs = append(at.jobs, j)
	if j.batched {
		q.events += len(j.events)
		q.later(at, linger)
	} else {
		at.urgent++
	}
	q.offer(at)
	return nil
}

// later makes a line due after a while.
func (q *queue) later(at *line, wait time.Duration) {
	if at.timer != nil || at.due {
		return
	}
	at.timer = time.AfterFunc(wait, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		at.timer, at.due = nil, true
		q.offer(at)
	})
}

// offer lists a line that has something worth a commit.
func (q *queue) offer(at *line) {
	if at.busy || at.listed || len(at.jobs) == 0 {
		return
	}
	if at.urgent > 0 || at.due || q.closed {
		at.listed = true
		q.ready = append(q.ready, at)
		q.wake.Signal()
	}
}

// take waits for a line and returns it with a batch of its jobs; nil when the
// queue is closed and nothing is left to be taken.
func (q *queue) take() (*line, []*job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for len(q.ready) == 0 {
			if q.closed && len(q.tenants) == 0 {
				return nil, nil
			}
			q.wake.Wait()
		}
		at := q.ready[0]
		q.ready = append(q.ready[:0:0], q.ready[1:]...)
		at.listed, at.busy = false, true
		q.gather(at)
		if batch := q.pick(at); len(batch) > 0 {
			return at, batch
		}
		q.freeLocked(at)
	}
}

// gather gives those who were woken by the commit before, and are about to
// come back, the chance to be in this one.
func (q *queue) gather(at *line) {
	for waiting := 0; len(at.jobs) != waiting && len(at.jobs) < q.maxBatch; {
		waiting = len(at.jobs)
		q.mu.Unlock()
		runtime.Gosched()
		q.mu.Lock()
	}
}

// pick takes jobs that have nothing in common; the others stay in their
// order.
func (q *queue) pick(at *line) []*job {
	names := map[string]bool{}
	var batch, rest []*job
	for i, j := range at.jobs {
		if len(batch) == q.maxBatch {
			rest = append(rest, at.jobs[i:]...)
			break
		}
		mine := j.names()
		held := false
		for _, name := range mine {
			held = held || names[name]
		}
		// A name that somebody waits for is taken too: later jobs do not
		// overtake it.
		for _, name := range mine {
			names[name] = true
		}
		if held {
			rest = append(rest, j)
			continue
		}
		if j.batched {
			q.events -= len(j.events)
		} else {
			at.urgent--
		}
		if j.taken.CompareAndSwap(jobWaiting, jobTaken) {
			batch = append(batch, j)
		}
	}
	at.jobs, at.due = rest, false
	return batch
}

// giveBack puts jobs at the head of their line. later keeps batched events
// waiting for a while.
func (q *queue) giveBack(at *line, jobs []*job, failed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range jobs {
		j.taken.Store(jobWaiting)
		if j.batched {
			q.events += len(j.events)
		} else {
			at.urgent++
		}
	}
	at.jobs = append(jobs, at.jobs...)
	if failed && !q.closed {
		q.later(at, retryAfter)
	} else {
		at.due = true
	}
}

// free lets the next writer have the line.
func (q *queue) free(at *line) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.freeLocked(at)
}

func (q *queue) freeLocked(at *line) {
	at.busy = false
	if len(at.jobs) == 0 {
		if at.timer != nil {
			at.timer.Stop()
			at.timer = nil
		}
		delete(q.tenants, at.tenant)
		if q.closed {
			q.wake.Broadcast()
		}
		return
	}
	if at.urgent == 0 && !at.due {
		q.later(at, linger)
	}
	q.offer(at)
}

// close makes what is left ready at once.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, at := range q.tenants {
		q.offer(at)
	}
	q.wake.Broadcast()
}

// abandon drops batched events that cannot be written at the end.
func (q *queue) abandon(jobs []*job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range jobs {
		q.lose(fmt.Errorf("%w: %d batched events were not written", deed.ErrUnavailable, len(j.events)))
	}
}

func (q *queue) lose(err error) {
	if q.dropped == nil {
		q.dropped = err
	}
}
