// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
	"github.com/deed-run/deed/reconcile"
)

// background is what goes on beside the calls of a gateway: recovery and
// retention, look-ups that are due, tasks whose caller is gone, and what people
// have approved.
type background struct {
	upkeep  *upkeep
	runner  *runner
	lookups *reconcile.Worker
	tasks   *promised
}

// start begins it. After an error nothing runs.
func (w *background) start(c *Core) error {
	if c.reconciler() != nil {
		worker, err := reconcile.Start(reconcile.Options{Runtime: c.Runtime, Clock: c.Clock, Failed: c.lookUpFailed})
		if err != nil {
			return err
		}
		w.lookups = worker
	}
	w.upkeep = startUpkeep(c.Runtime, c.Clock, c.ledgerProblem, c.ledgerIsNewer, c.fence, c.lookAtLedger)
	w.runner = startRunner(c)
	w.tasks = startPromised(c)
	return nil
}

// lookUpsEnd bounds how long look-ups under way are waited for: they only read.
const lookUpsEnd = 5 * time.Second

func (w *background) stop() {
	w.runner.stop()
	w.tasks.stop()
	if w.lookups != nil {
		ctx, cancel := context.WithTimeout(context.Background(), lookUpsEnd)
		defer cancel()
		_ = w.lookups.Close(ctx)
	}
	w.upkeep.stop()
}

func (c *Core) lookUpFailed(err error) { c.log("look-up: " + deed.Whole(err) + "; it is tried again") }

// Budgets lists the configured budgets by name.
func (c *Core) Budgets() []deed.Budget { return budgetsOf(c.Config) }

// budgetsOf lists the configured budgets by name.
func budgetsOf(config *policy.Config) []deed.Budget {
	return slices.SortedFunc(maps.Values(config.Budgets), func(a, b deed.Budget) int { return cmp.Compare(a.Name, b.Name) })
}
