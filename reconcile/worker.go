// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deed-run/deed"
)

// Runtime is what a worker drives; a *deed.Runtime is one.
type Runtime interface {
	Due(ctx context.Context, limit int) ([]deed.Due, error)
	LeaseDue(ctx context.Context, due []deed.Due) ([]deed.Due, error)
	ReconcileDue(ctx context.Context, due deed.Due) (deed.Finding, error)
}

// Options configure a Worker. Runtime is required.
type Options struct {
	Runtime Runtime
	// InFlight bounds how many look-ups ask their provider at a time; 0 means
	// 64.
	InFlight int
	// Every is how often the ledger is asked what is due; 0 means 5 s.
	Every time.Duration
	Clock deed.Clock
	// Failed is told of look-ups that could not be recorded and of a ledger
	// that cannot be read; nil tells nobody. It must return quickly.
	Failed func(error)
}

// Worker looks up in the background what is due. Several workers, in one
// process or in many, share the work: look-ups are leased in the ledger, many in
// one transaction.
type Worker struct {
	opts Options
	ctx  context.Context
	stop context.CancelFunc
	wake chan struct{}
	done chan struct{}
	// slots bounds how many ask a provider.
	slots chan struct{}
}

// ahead is how many look-ups are read and written in the ledger for each one
// that is asking: the provider need not wait for the disk.
const ahead = 4

// readAhead is how many due operations are taken up by one look at the ledger.
const readAhead = 10_000

// Start begins to work. Close ends it.
func Start(opts Options) (*Worker, error) {
	if opts.Runtime == nil {
		return nil, errors.New("reconcile: Options.Runtime is not set")
	}
	if opts.InFlight <= 0 {
		opts.InFlight = 64
	}
	if opts.Every <= 0 {
		opts.Every = 5 * time.Second
	}
	if opts.Clock == nil {
		opts.Clock = deed.SystemClock{}
	}
	if opts.Failed == nil {
		opts.Failed = func(error) {}
	}
	w := &Worker{opts: opts, wake: make(chan struct{}, 1), done: make(chan struct{}), slots: make(chan struct{}, opts.InFlight)}
	w.ctx, w.stop = context.WithCancel(context.Background())
	go w.loop()
	return w, nil
}

// Wake makes the worker ask the ledger now.
func (w *Worker) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Close stops the worker and waits, until ctx ends, for the look-ups under
// way, which are cancelled: a look-up only reads.
func (w *Worker) Close(ctx context.Context) error {
	w.stop()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("closing the look-ups: %w", ctx.Err())
	}
}

func (w *Worker) loop() {
	defer close(w.done)
	for {
		more := w.round()
		var next <-chan time.Time
		if !more {
			next = w.opts.Clock.After(w.opts.Every)
		}
		select {
		case <-w.ctx.Done():
			return
		default:
		}
		if more {
			continue
		}
		select {
		case <-w.ctx.Done():
			return
		case <-w.wake:
		case <-next:
		}
	}
}

// round looks up what is due now, and reports whether there may be more that
// is worth asking for at once.
func (w *Worker) round() bool {
	due, err := w.opts.Runtime.Due(w.ctx, readAhead)
	if err != nil {
		w.failed(fmt.Errorf("asking what is due: %w", err))
		return false
	}
	// The next lease is written while those of the one before are at work.
	queue := make(chan deed.Due, ahead*w.opts.InFlight)
	var working sync.WaitGroup
	var moved atomic.Int64
	for range min(ahead*w.opts.InFlight, len(due)) {
		working.Go(func() {
			for one := range queue {
				if w.lookUp(one) {
					moved.Add(1)
				}
			}
		})
	}
	w.lease(due, queue)
	close(queue)
	working.Wait()
	w.giveBack()
	return len(due) == readAhead && moved.Load() > 0
}

// lease takes what is due, so many at a time as are at work, and hands it on.
func (w *Worker) lease(due []deed.Due, queue chan<- deed.Due) {
	for bundle := range slices.Chunk(due, ahead*w.opts.InFlight) {
		taken, err := w.opts.Runtime.LeaseDue(w.ctx, bundle)
		if err != nil {
			w.failed(err)
			return
		}
		for _, one := range taken {
			queue <- one
		}
	}
}

// giveBack gives up the leases of look-ups that have ended, also when the worker
// ends.
func (w *Worker) giveBack() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), givingBack)
	defer cancel()
	if _, err := w.opts.Runtime.LeaseDue(ctx, nil); err != nil {
		w.failed(err)
	}
}

// givingBack bounds how long giving leases back holds up the end of a worker.
const givingBack = 2 * time.Second

func (w *Worker) failed(err error) {
	if w.ctx.Err() == nil {
		w.opts.Failed(err)
	}
}

// lookUp reports whether a look-up was made and recorded.
func (w *Worker) lookUp(due deed.Due) bool {
	due.Slot = w.slot
	_, err := w.opts.Runtime.ReconcileDue(w.ctx, due)
	var refused *deed.RefusedError
	switch {
	case err == nil, errors.Is(err, deed.ErrLookedUp), errors.As(err, &refused), errors.Is(err, deed.ErrNotFound), w.ctx.Err() != nil:
		return err == nil
	}
	w.opts.Failed(err)
	return false
}

// slot waits for the turn to ask.
func (w *Worker) slot(ctx context.Context) (func(), error) {
	select {
	case w.slots <- struct{}{}:
		return func() { <-w.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
