// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
)

// writers commit the batches of a queue, each on a connection of its own.
type writers struct {
	*queue
	config   *pgx.ConnConfig
	patience time.Duration
	clock    deed.Clock
	tell     func(deed.Tenant, []*deed.Operation)
	running  sync.WaitGroup

	// idle are the links that nobody uses, the latest last: it is taken first,
	// for it is the one that knows the statements.
	linking sync.Mutex
	idle    []*link
}

func (w *writers) start(n int) {
	for range n {
		w.running.Add(1)
		go func() {
			defer w.running.Done()
			one := writer{writers: w, number: randomNumber()}
			one.loop()
		}()
	}
}

// stop writes what is queued and waits for the writers.
func (w *writers) stop() error {
	w.close()
	w.running.Wait()
	for _, l := range w.idle {
		_ = l.close()
	}
	return w.dropped
}

// borrow gives a writer a link for a batch.
func (w *writers) borrow() *link {
	w.linking.Lock()
	defer w.linking.Unlock()
	if len(w.idle) == 0 {
		return nil
	}
	last := w.idle[len(w.idle)-1]
	w.idle = w.idle[:len(w.idle)-1]
	return last
}

func (w *writers) giveLinkBack(l *link) {
	if l == nil {
		return
	}
	w.linking.Lock()
	defer w.linking.Unlock()
	w.idle = append(w.idle, l)
}

// writer is one of them. link is nil until it is needed, and after a failure.
type writer struct {
	*writers
	// number tells this writer's events from those that others write in the
	// same microsecond.
	number int64
	link   *link
}

func (w *writer) loop() {
	for {
		at, batch := w.take()
		if at == nil {
			return
		}
		w.link = w.borrow()
		w.process(at, batch)
		w.giveLinkBack(w.link)
		w.link = nil
		w.free(at)
	}
}

// process commits a batch and answers it.
func (w *writer) process(at *line, jobs []*job) {
	until := time.Now().Add(w.patience)
	deferred, err := w.commit(jobs, until)
	if len(jobs) > 1 && (errors.As(err, new(*refusedError)) || blocked(err)) {
		// One of them cannot be written: each gets a transaction of its own.
		var again []*job
		for _, j := range jobs {
			_, alone := w.commit([]*job{j}, until)
			again = append(again, w.finish([]*job{j}, alone)...)
		}
		w.tryLater(at, again)
		return
	}
	done := slices.DeleteFunc(slices.Clone(jobs), func(j *job) bool { return slices.Contains(deferred, j) })
	w.tryLater(at, w.finish(done, err))
	if len(deferred) > 0 {
		w.giveBack(at, deferred, false)
	}
}

// finish answers jobs and returns those that nobody waits for and that could
// not be written.
func (w *writer) finish(jobs []*job, err error) (again []*job) {
	var refused *refusedError
	final := errors.As(err, &refused)
	for _, j := range jobs {
		if err != nil {
			j.err, j.panicked = err, nil
			if j.lost != nil && !final {
				j.err = fmt.Errorf("%w: %w", deed.ErrCommitUnknown, err)
			}
		}
		switch {
		case j.done != nil:
			if j.err == nil {
				w.tell(j.tenant, j.put)
			}
			close(j.done)
		case err != nil && !final:
			again = append(again, j)
		case err != nil:
			w.mu.Lock()
			w.lose(fmt.Errorf("a batched event was refused and dropped: %w", err))
			w.mu.Unlock()
		}
	}
	return again
}

// tryLater keeps batched events for the next turn, unless there is none.
func (w *writer) tryLater(at *line, jobs []*job) {
	if len(jobs) == 0 {
		return
	}
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		w.abandon(jobs)
		return
	}
	w.giveBack(at, jobs, true)
}

// tries bounds how often a change that lost a race is decided anew.
const tries = 5

// commit runs the jobs in one transaction, again after a failure that left
// nothing behind, or that may have: then the jobs find out themselves.
func (w *writer) commit(jobs []*job, until time.Time) (deferred []*job, err error) {
	for try, pause := 1, 5*time.Millisecond; ; try++ {
		deferred, err = w.attempt(jobs)
		var refused *refusedError
		switch {
		case err == nil:
			return deferred, nil
		case errors.As(err, &refused):
			if len(jobs) > 1 || !refused.raced() || try >= tries {
				return nil, err
			}
			continue
		case !passing(err) && !anyLost(jobs), time.Now().Add(pause).After(until):
			return nil, err
		}
		time.Sleep(pause)
		pause = min(2*pause, 200*time.Millisecond)
	}
}

func anyLost(jobs []*job) bool {
	return slices.ContainsFunc(jobs, func(j *job) bool { return j.lost != nil })
}

// attempt runs the jobs in one transaction, once.
func (w *writer) attempt(jobs []*job) (deferred []*job, err error) {
	if w.link == nil {
		if w.link, err = openLink(w.config, w.patience); err != nil {
			return nil, err
		}
	}
	b := newBatch(jobs, w.number, w.patience)
	if w.clock != nil {
		at := ledgerTime(w.clock.Now())
		b.read.at = &at
	}
	if err := w.link.run(b.opening()); err != nil {
		return nil, w.undo(err)
	}
	if b.version != newestVersion {
		return nil, w.undo(versionError(b.version))
	}
	if w.clock != nil {
		b.now = ledgerTime(w.clock.Now())
	}
	b.decide()
	if err := b.strangers(w.link); err != nil {
		return nil, w.undo(err)
	}
	steps, err := b.closing()
	if err != nil {
		return nil, w.undo(&refusedError{err})
	}
	if len(steps) == 0 {
		return b.deferred, w.undo(nil)
	}
	w.link.warned.Store(false)
	err = w.link.run(steps)
	if err == nil && !w.link.warned.Load() {
		return b.deferred, nil
	}
	if err == nil {
		err = errWarned
	} else if notCommitted(err) && !w.link.conn.IsClosed() {
		return nil, w.undo(err)
	}
	for _, j := range jobs {
		if j.err == nil && !slices.Contains(b.deferred, j) && !b.found[j] {
			lost := j.wanted
			j.lost = &lost
		}
	}
	w.discard()
	return nil, &lostError{err}
}

// blocked reports whether a transaction gave up waiting for the locks of
// others.
func blocked(err error) bool {
	of := databaseError(err)
	return of != nil && of.Code == codeLockNotAvailable
}

// undo ends the transaction and returns why.
func (w *writer) undo(why error) error {
	if !w.link.rollback() {
		w.discard()
	}
	return sorted(why)
}

func (w *writer) discard() {
	w.link.drop()
	w.link = nil
}
