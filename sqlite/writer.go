// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deed-run/deed"
)

const (
	// linger is how long batched events wait for a transaction to ride with.
	linger = 50 * time.Millisecond
	// lingerFor is the number of waiting jobs at which they are not made to
	// wait any longer.
	lingerFor = 2048
	// maxWaiting bounds the batched events in memory while nothing can be
	// written.
	maxWaiting = 1 << 16
	// retryAfter is the pause before batched events are tried again.
	retryAfter = time.Second
)

// errCrowded: as many batched events wait as may.
var errCrowded = errors.New("too many events wait to be written")

// job is one request to the writer.
type job struct {
	// run loads, decides and writes within the writer's transaction. It may be
	// run again when the transaction has to be repeated.
	run func(*connection) error
	// put are the operations that run wrote, for those who watch them.
	put []*deed.Operation
	// after are the operations as run left them, delivered those whose receipts
	// it marked, and trimmed says that payloads were removed: what is kept in
	// memory follows.
	after     []stored
	delivered []watchedID
	trimmed   bool
	// events is the number of events of a batched append, 0 for jobs that
	// somebody waits for.
	events int
	// queued is when a batched append began to wait.
	queued time.Time

	taken atomic.Int32
	err   error
	// panicked is what run panicked with, to be raised at the caller's.
	panicked any
	done     chan struct{}
}

// The states of a job: whoever moves it away from waiting owns it.
const (
	jobWaiting = iota
	jobTaken
	jobAbandoned
)

// writer owns the writing connection and the goroutine that commits. All that
// waits when it comes back from the disk goes into its next transaction.
type writer struct {
	*committer
	maxBatch int

	// turn is held by whoever uses the connection: the loop, and peek.
	turn sync.Mutex

	mu sync.Mutex
	// queue keeps the order of arrival, which is the order of writing.
	queue  []*job
	urgent int
	events int
	closed bool
	// lingering: the loop looks at the queue before linger is over, without
	// being woken for it.
	lingering bool
	// dropped is the first error of a batched append that was refused for what
	// it was; nobody waits for it.
	dropped error
	wake    chan struct{}
	stopped chan struct{}
}

func newWriter(place location, first *connection, maxBatch int, watches *watches, hot *hot) *writer {
	w := &writer{
		committer: newCommitter(place, first, watches, hot),
		maxBatch:  maxBatch,
		wake:      make(chan struct{}, 1),
		stopped:   make(chan struct{}),
	}
	go w.loop()
	return w
}

// enqueue hands a batched append over.
func (l *Ledger) enqueue(j *job, events int) error {
	j.events = events
	return l.writer.push(j)
}

// submit hands a job over and waits for its outcome.
func (l *Ledger) submit(ctx context.Context, j *job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.done = make(chan struct{})
	if err := l.writer.push(j); err != nil {
		return err
	}
	patience := l.writer.place.patience
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var why error
	select {
	case <-j.done:
		return l.outcome(j)
	case <-timer.C:
		why = fmt.Errorf("no turn to write within %s", patience)
	case <-ctx.Done():
		why = ctx.Err()
	}
	if j.taken.CompareAndSwap(jobWaiting, jobAbandoned) {
		return fmt.Errorf("%s: %w: %w; nothing was written, try again", l.path, deed.ErrUnavailable, why)
	}
	// A commit that has begun is never called off: it is on its way to the
	// disk, and its outcome is worth waiting for.
	timer.Reset(patience)
	select {
	case <-j.done:
		return l.outcome(j)
	case <-timer.C:
		return fmt.Errorf("%s: %w: the disk has not answered for %s", l.path, deed.ErrCommitUnknown, patience)
	}
}

func (l *Ledger) outcome(j *job) error {
	if j.panicked != nil {
		panic(j.panicked)
	}
	return l.explain("writing", j.err)
}

func (w *writer) push(j *job) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return closedError()
	case j.events > 0 && w.events+j.events > maxWaiting:
		return errCrowded
	}
	w.queue = append(w.queue, j)
	if j.events == 0 {
		w.urgent++
		w.signal()
		return nil
	}
	w.events += j.events
	j.queued = time.Now()
	if !w.lingering || len(w.queue) >= lingerFor {
		w.lingering = true
		w.signal()
	}
	return nil
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// close lets the loop write what is queued and waits for it.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.signal()
	<-w.stopped
	w.turn.Lock()
	defer w.turn.Unlock()
	err := errors.Join(w.dropped, w.shut())
	if w.events > 0 {
		err = errors.Join(fmt.Errorf("%w: %d batched events were not written", deed.ErrUnavailable, w.events), err)
	}
	return err
}

func (w *writer) loop() {
	defer close(w.stopped)
	var pause lingerTimer
	failed := false
	for {
		wait := linger
		if failed {
			wait = retryAfter
		}
		batch, more := w.collect(&pause, wait)
		if len(batch) > 0 {
			failed = !w.process(batch)
		}
		if more {
			w.turn.Unlock()
		}
		if !more || failed && w.isClosed() {
			return
		}
	}
}

// lingerTimer goes on running while the queue empties and fills again: events
// mostly ride with a transaction long before it fires, and setting it for each
// of them would cost more than looking in vain once.
type lingerTimer struct {
	fires <-chan time.Time // nil while it stands
}

// peek reads with the writing connection, which has in memory what this process
// wrote and need not read it from the log again, if nobody uses it. It reports
// whether do succeeded; otherwise another connection has to be asked.
func (w *writer) peek(do func(*connection) error) bool {
	if !w.turn.TryLock() {
		return false
	}
	defer w.turn.Unlock()
	if w.conn == nil {
		return false
	}
	w.conn.memory = nil
	err := do(w.conn)
	w.conn.release()
	return err == nil
}

func (w *writer) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// collect waits until there is something worth a commit and takes it, and the
// turn with it. more is false when the writer is closed and nothing is left.
func (w *writer) collect(pause *lingerTimer, wait time.Duration) (batch []*job, more bool) {
	for {
		w.mu.Lock()
		waiting, urgent, closed := len(w.queue), w.urgent, w.closed
		var rest time.Duration
		if waiting > 0 {
			rest = wait - time.Since(w.queue[0].queued)
		}
		w.lingering = waiting > 0 || pause.fires != nil
		w.mu.Unlock()
		switch {
		case closed && waiting == 0:
			return nil, false
		case closed, urgent > 0, waiting > 0 && rest <= 0:
			return w.take(), true
		case waiting >= lingerFor && wait == linger:
			return w.take(), true
		case waiting > 0 && pause.fires == nil:
			pause.fires = time.After(rest)
		}
		select {
		case <-w.wake:
		case <-pause.fires:
			pause.fires = nil
		}
	}
}

// take empties the queue, up to the size of a batch. Those who were woken by
// the commit before are about to come back: they get the chance to be in this
// one, for as long as some do. It leaves the turn taken: nobody's job is on its
// way to the disk while somebody reads with the connection.
func (w *writer) take() []*job {
	w.turn.Lock()
	for waiting, quiet := 0, 0; ; runtime.Gosched() {
		w.mu.Lock()
		if len(w.queue) == waiting {
			quiet++
		} else {
			waiting, quiet = len(w.queue), 0
		}
		if quiet == 2 || waiting >= w.maxBatch {
			break
		}
		w.mu.Unlock()
	}
	defer w.mu.Unlock()
	n := w.batchSize()
	batch := make([]*job, 0, n)
	for _, j := range w.queue[:n] {
		w.events -= j.events
		if j.events == 0 {
			w.urgent--
		}
		if j.taken.CompareAndSwap(jobWaiting, jobTaken) {
			batch = append(batch, j)
		}
	}
	w.queue = append(w.queue[:0:0], w.queue[n:]...)
	return batch
}

// eventsAlone is how many times more events than requests share one commit when
// nobody waits for it: the more of them, the fewer pages of their index are
// written for each.
const eventsAlone = 16

// batchSize is the number of waiting jobs that go into the next commit. The
// caller holds mu.
func (w *writer) batchSize() int {
	if w.urgent > 0 {
		return min(len(w.queue), w.maxBatch)
	}
	return min(len(w.queue), eventsAlone*w.maxBatch)
}

// process commits the batch and answers it; false when the ledger could not
// be written. Batched events then go back to the head of the queue.
func (w *writer) process(batch []*job) bool {
	err := w.commit(batch)
	var again []*job
	for _, j := range batch {
		if j.done != nil {
			close(j.done)
			continue
		}
		switch {
		case err != nil:
			j.taken.Store(jobWaiting)
			j.queued = time.Now()
			again = append(again, j)
		case j.err != nil && w.dropped == nil:
			w.dropped = fmt.Errorf("a batched event was refused and dropped: %w", j.err)
		}
	}
	if len(again) > 0 {
		w.mu.Lock()
		w.queue = append(again, w.queue...)
		for _, j := range again {
			w.events += j.events
		}
		w.mu.Unlock()
	}
	w.checkpoint() // nobody waits for it
	return err == nil
}
