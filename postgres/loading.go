// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
)

const (
	// loadLanes is the number of round trips for loads that are under way at a
	// time: with more of them fewer loads share one.
	loadLanes = 2
	// maxLoads bounds how many loads share a round trip.
	maxLoads = 256
)

// loading reads for those who load at the same time: whoever comes while all
// lanes are under way shares the next round trip with the others of the tenant.
// A load never waits for one that was called later, and what is read is never
// older than the call, for the statement is sent after it.
type loading struct {
	ledger *Ledger

	mu sync.Mutex
	// tenants are those that somebody waits for, in the order of their arrival.
	tenants []deed.Tenant
	waiting map[deed.Tenant][]*load
	lanes   int
	closed  bool
	running sync.WaitGroup
}

// load is one that waits.
type load struct {
	request *request
	done    chan struct{}
	view    deed.View
	// failed: the round trip came to nothing, for whatever reason; the load is
	// to be tried by itself.
	failed bool
}

func newLoading(l *Ledger) *loading {
	return &loading{ledger: l, waiting: map[deed.Tenant][]*load{}}
}

// shares reports whether a scope is read by one statement, which has a snapshot
// of its own whatever else is in the round trip.
func shares(scope *deed.Scope) bool {
	if scope.Tool != "" || len(scope.Budgets) > 0 || scope.Consent != "" {
		return false
	}
	if scope.ID != "" {
		return !scope.Lineage
	}
	return len(scope.Keys) > 0
}

// do loads together with others. It is false when the load has to be tried
// alone.
func (g *loading) do(ctx context.Context, scope deed.Scope) (deed.View, bool, error) {
	if err := ctx.Err(); err != nil {
		return deed.View{}, true, err
	}
	one := &load{request: newRequest(scope), done: make(chan struct{})}
	if !g.push(one) {
		return deed.View{}, true, closedError()
	}
	select {
	case <-one.done:
		return one.view, !one.failed, nil
	case <-ctx.Done():
		return deed.View{}, true, ctx.Err()
	}
}

func (g *loading) push(one *load) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	tenant := one.request.scope.Tenant
	if len(g.waiting[tenant]) == 0 {
		g.tenants = append(g.tenants, tenant)
	}
	g.waiting[tenant] = append(g.waiting[tenant], one)
	if g.lanes < loadLanes {
		g.lanes++
		g.running.Go(g.run)
	}
	return true
}

// run is one lane: it reads until nobody waits.
func (g *loading) run() {
	for {
		// Others who were woken together with the first are about to come.
		runtime.Gosched()
		together := g.take()
		if together == nil {
			return
		}
		err := g.read(together)
		for _, one := range together {
			one.failed = err != nil
			close(one.done)
		}
	}
}

// close waits for the lanes: those who wait get what they asked for.
func (g *loading) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
}

func (g *loading) take() []*load {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.tenants) == 0 {
		g.lanes--
		return nil
	}
	tenant := g.tenants[0]
	g.tenants = append(g.tenants[:0:0], g.tenants[1:]...)
	together := g.waiting[tenant]
	if len(together) <= maxLoads {
		delete(g.waiting, tenant)
		return together
	}
	g.waiting[tenant] = together[maxLoads:]
	g.tenants = append(g.tenants, tenant)
	return together[:maxLoads]
}

// read answers loads of one tenant.
func (g *loading) read(together []*load) error {
	ctx, cancel := context.WithTimeout(context.Background(), g.ledger.options.Patience)
	defer cancel()
	r := reading{tenant: together[0].request.scope.Tenant}
	for _, one := range together {
		r.requests = append(r.requests, one.request)
	}
	var clock clock
	if err := g.ledger.read(ctx, append(r.steps(false), clock.step())); err != nil {
		return err
	}
	if err := clock.readable(); err != nil {
		return err
	}
	r.finish()
	for _, one := range together {
		one.view = one.request.view
		one.view.Now = g.ledger.now(clock.us)
	}
	return nil
}

// clock is what sqlClock says of the ledger.
type clock struct{ us, version, oldest int64 }

func (c *clock) step() step {
	return step{sql: sqlClock, read: func(rows pgx.Rows) error { return rows.Scan(&c.us, &c.version, &c.oldest) }}
}

// readable refuses a ledger that this program cannot read.
func (c *clock) readable() error {
	if c.oldest > newestVersion {
		return fmt.Errorf("%w (%d, and this program reads up to %d); use the newer version of this program", deed.ErrLedgerVersion, c.version, newestVersion)
	}
	return nil
}
