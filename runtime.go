// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure a Runtime. Store and Policy are required.
type Options struct {
	Store  Store
	Policy Policy
	// Clock, Random and Observer default to the system's and to none.
	Clock    Clock
	Random   io.Reader
	Observer Observer
	// Worker names this process in attempts; random by default.
	Worker string
	// StrictAudit makes answers wait until their decision event is durable.
	StrictAudit bool
	// NFC normalises text for fingerprint rules that ask for it.
	NFC func(string) string
	// Reconciler looks up what became of uncertain operations; nil: nobody
	// does, and they wait for a person.
	Reconciler Reconciler
	// CheckEdited says what a tool's own schema finds wrong with arguments that
	// a person edited in an operation, or ""; its error says why nobody could
	// check them, and what to do. Nothing is edited with either. Nil leaves it to
	// the tool. It is asked outside of every transaction.
	CheckEdited func(ctx context.Context, op *Operation, arguments []byte) (wrong string, err error)
}

// Runtime is the one way to an effect: it decides, records, grants attempts
// and settles them. It is safe for concurrent use. Close it to end its
// renewals.
type Runtime struct {
	store    Store
	policy   Policy
	clock    Clock
	random   io.Reader
	observer Observer
	worker   string
	strict   bool
	nfc      func(string) string

	rules       ruleBook
	secrets     secretBox
	limits      limiter
	sights      sightings
	ledgerClock ledgerClock
	looking     looking

	reconciler  Reconciler
	checkEdited func(context.Context, *Operation, []byte) (string, error)
	// served holds the tenants that operations were begun for.
	served sync.Map

	ctx  context.Context
	stop context.CancelFunc
	// last ends the attempts to record outcomes that could not be stored;
	// unstored says which there are.
	last     context.Context
	give     context.CancelFunc
	unstored sync.Map
	running  sync.WaitGroup
	closed   atomic.Bool
	leases   *keeper
}

// storePatience bounds a write of the ledger: a begin that cannot commit in
// this time is denied.
const storePatience = 5 * time.Second

// New returns a Runtime over the store.
func New(opts Options) (*Runtime, error) {
	switch {
	case opts.Store == nil:
		return nil, errors.New("deed: Options.Store is not set: nothing can be recorded")
	case opts.Policy == nil:
		return nil, errors.New("deed: Options.Policy is not set: use FixedPolicy{} for the defaults")
	}
	rt := &Runtime{
		store: opts.Store, policy: opts.Policy, clock: opts.Clock, random: opts.Random,
		observer: opts.Observer, worker: opts.Worker, strict: opts.StrictAudit, nfc: opts.NFC,
		reconciler: opts.Reconciler, checkEdited: opts.CheckEdited,
	}
	if rt.clock == nil {
		rt.clock = SystemClock{}
	}
	if rt.random == nil {
		rt.random = systemRandom
	} else {
		rt.random = &lockedReader{reader: rt.random}
	}
	if rt.observer == nil {
		rt.observer = noObserver{}
	}
	if rt.worker == "" {
		rt.worker = newNonce(rt.random)
	}
	rt.ctx, rt.stop = context.WithCancel(context.Background())
	rt.last, rt.give = context.WithCancel(context.Background())
	rt.leases = newKeeper(rt)
	return rt, nil
}

// Close ends renewals and waits for settlements under way until ctx ends; its
// error names the outcomes that could not be recorded by then.
// Attempts that are still running become uncertain now rather than by lease;
// their late results are still recorded if they arrive while the store is
// open. It does not close the Store: close that afterwards, for what is settled
// on a closed Store is not recorded, and its error says so.
func (rt *Runtime) Close(ctx context.Context) error {
	if rt.closed.Swap(true) {
		return nil
	}
	var errs []error
	for _, grant := range rt.leases.all() {
		_, err := rt.Settle(ctx, grant, Outcome{Kind: OutcomeUnknown, Message: "the gateway was shut down before an answer came"})
		if err != nil {
			errs = append(errs, err)
		}
	}
	rt.stop()
	done := make(chan struct{})
	go func() {
		rt.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		errs = append(errs, fmt.Errorf("closing: %w", ctx.Err()))
	}
	rt.give()
	rt.unstored.Range(func(_, what any) bool {
		errs = append(errs, what.(error))
		return true
	})
	return errors.Join(errs...)
}

// lockedReader makes an injected source of randomness safe to share.
type lockedReader struct {
	mu     sync.Mutex
	reader io.Reader
}

func (r *lockedReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reader.Read(p)
}
