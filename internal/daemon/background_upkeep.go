// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

// The pace of the upkeep.
const (
	recoverEvery = 10 * time.Second
	trimEvery    = time.Hour
)

// upkeep writes what time has done to operations that nobody asks about,
// removes what retention no longer wants, and looks whether a fence was set and whether
// the ledger still takes writes of this version. All run at once and then at their pace, until stop.
type upkeep struct {
	work    sync.WaitGroup
	end     context.CancelFunc
	clock   deed.Clock
	problem func(string)
	// newer tells, once, that a newer version has taken the ledger over.
	newer func()
}

func startUpkeep(rt *deed.Runtime, clock deed.Clock, problem func(string), newer func(), fence *fenced, look func(context.Context) (int, error)) *upkeep {
	ctx, end := context.WithCancel(context.Background())
	u := &upkeep{end: end, clock: clock, problem: problem, newer: newer}
	u.every(ctx, recoverEvery, "recovery", rt.Recover)
	u.every(ctx, trimEvery, "retention", rt.Trim)
	u.every(ctx, FenceEvery, "fence", fence.look)
	u.every(ctx, recoverEvery, "version", look)
	return u
}

// every runs the pass again and again. A problem is told when it begins, not
// each time.
func (u *upkeep) every(ctx context.Context, pause time.Duration, name string, pass func(context.Context) (int, error)) {
	u.work.Go(func() {
		failing := false
		for {
			_, err := pass(ctx)
			if ctx.Err() != nil {
				return
			}
			switch {
			case errors.Is(err, deed.ErrLedgerVersion):
				u.newer()
			case err != nil && !failing:
				u.problem(name + ": " + err.Error() + "; it is tried again")
			}
			failing = err != nil
			select {
			case <-u.clock.After(pause):
			case <-ctx.Done():
				return
			}
		}
	})
}

func (u *upkeep) stop() {
	u.end()
	u.work.Wait()
}
