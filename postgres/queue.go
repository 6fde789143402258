// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
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

// mostOut is how many batches of a tenant may be on their way at once: while
// one waits for the database, the next is decided.
const mostOut = 2

// queue hands out the jobs in batches. Two batches of a tenant that are on
// their way at once have nothing in common, and one of them at most appends
// events for their own sake, so that these keep their order.
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
	// out is the number of batches that writers have of it, names what the jobs
	// in them are about; appending: one of them appends events, about told.
	out       int
	names     map[string]bool
	appending bool
	told      map[string]bool
	// listed: it is in ready.
	listed bool
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
		at = &line{tenant: j.tenant, names: map[string]bool{}}
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
	if at.out == mostOut || at.listed || len(at.jobs) == 0 {
		return
	}
	if at.urgent > 0 || at.out == 0 && (at.due || q.closed) {
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
		at.listed = false
		at.out++
		q.gather(at)
		if batch := q.pick(at); len(batch) > 0 {
			q.offer(at)
			return at, batch
		}
		// What is left waits for a batch that is on its way, if there is one.
		if at.out--; at.out == 0 {
			q.freeLocked(at)
		}
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
	names := maps.Clone(at.names)
	var batch, rest []*job
	appending, told := false, map[string]bool{}
	for i, j := range at.jobs {
		if len(batch) == q.maxBatch {
			rest = append(rest, at.jobs[i:]...)
			break
		}
		mine := j.names()
		held := slices.ContainsFunc(mine, func(name string) bool { return names[name] || at.told[name] })
		if j.change == nil && at.appending {
			held, mine = true, j.about()
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
			if j.change == nil {
				appending = true
				for _, name := range j.about() {
					told[name] = true
				}
			}
			for _, name := range mine {
				at.names[name] = true
			}
		}
	}
	at.due = at.due && at.appending
	if at.jobs = rest; appending {
		at.appending, at.told = true, told
	}
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

// free lets others have what a batch was about.
func (q *queue) free(at *line, batch []*job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range batch {
		for _, name := range j.names() {
			delete(at.names, name)
		}
		if j.change == nil {
			at.appending, at.told = false, nil
		}
	}
	at.out--
	q.freeLocked(at)
}

func (q *queue) freeLocked(at *line) {
	if len(at.jobs) == 0 {
		if at.out > 0 {
			return
		}
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
