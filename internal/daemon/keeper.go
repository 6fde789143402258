// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

// The pace of the clockwork.
const (
	recoverEvery = 10 * time.Second
	trimEvery    = time.Hour
)

// keeper writes what time has done to operations that nobody asks about,
// removes what retention no longer wants, and looks whether a fence was set. All
// run at once and then at their pace, until stop.
type keeper struct {
	work    sync.WaitGroup
	end     context.CancelFunc
	clock   deed.Clock
	problem func(string)
	// newer tells, once, that a newer version has taken the ledger over.
	newer func()
}

func startKeeper(rt *deed.Runtime, clock deed.Clock, problem func(string), newer func(), fence *fenced) *keeper {
	ctx, end := context.WithCancel(context.Background())
	k := &keeper{end: end, clock: clock, problem: problem, newer: newer}
	k.every(ctx, recoverEvery, "recovery", rt.Recover)
	k.every(ctx, trimEvery, "retention", rt.Trim)
	k.every(ctx, FenceEvery, "fence", fence.look)
	return k
}

// every runs the pass again and again. A problem is told when it begins, not
// each time.
func (k *keeper) every(ctx context.Context, pause time.Duration, name string, pass func(context.Context) (int, error)) {
	k.work.Go(func() {
		failing := false
		for {
			_, err := pass(ctx)
			if ctx.Err() != nil {
				return
			}
			switch {
			case errors.Is(err, deed.ErrLedgerVersion):
				k.newer()
			case err != nil && !failing:
				k.problem(name + ": " + err.Error() + "; it is tried again")
			}
			failing = err != nil
			select {
			case <-k.clock.After(pause):
			case <-ctx.Done():
				return
			}
		}
	})
}

func (k *keeper) stop() {
	k.end()
	k.work.Wait()
}
