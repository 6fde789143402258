// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// recoverPage bounds one look of the recovery pass.
const recoverPage = 500

// Recover writes what time alone has done to operations of every tenant that
// nobody has asked about: lost leases become uncertain, unanswered questions
// too, proposals and rights to begin run out. It never sends anything and
// never makes anything runnable. It returns how many operations it moved.
//
// Calls find all this out by themselves, listings do not: [Runtime.Due],
// [Runtime.Waiting] and whoever waits for an event hear of it after a Recover.
// Call it at the start and every few seconds, in any one process.
func (rt *Runtime) Recover(ctx context.Context) (int, error) {
	now, err := rt.ledgerNow(ctx)
	if err != nil {
		return 0, err
	}
	moved := 0
	for {
		page, err := rt.store.List(ctx, Query{Lapsed: now, Limit: recoverPage})
		if err != nil {
			return moved, err
		}
		wrote := 0
		for _, op := range page.Operations {
			done, err := rt.recoverOne(ctx, op)
			if err != nil {
				return moved, err
			}
			if done {
				wrote++
			}
		}
		moved += wrote
		if wrote == 0 || len(page.Operations) < recoverPage {
			return moved, nil
		}
	}
}

func (rt *Runtime) recoverOne(ctx context.Context, op *Operation) (bool, error) {
	moved := false
	retain := rt.ruleOf(op).Retention
	err := rt.write(ctx, Scope{Tenant: op.Tenant, ID: op.ID}, func(view View) (Change, error) {
		next, events, err := lapse(view.Operation, view.Now, retain)
		moved = err == nil && next != nil
		if !moved {
			return Change{}, err
		}
		return Change{Put: []*Operation{next}, Events: events}, nil
	})
	if errors.Is(err, ErrVersion) {
		return false, nil
	}
	return moved, err
}

// Trim removes results and arguments whose retention has passed. Rows,
// receipts and events stay; unresolved operations are never touched. Nothing
// else removes them: call it now and then, in any one process. What it removes is
// gone, so it has passed by the ledger's clock and by this process's own.
func (rt *Runtime) Trim(ctx context.Context) (int, error) {
	now, err := rt.ledgerNow(ctx)
	if err != nil {
		return 0, err
	}
	if own := rt.clock.Now(); own.Before(now) {
		now = own
	}
	total := 0
	for {
		n, err := rt.store.Trim(ctx, now, recoverPage)
		total += n
		if err != nil || n < recoverPage {
			return total, err
		}
	}
}

// ledgerNow is the time by the ledger's clock, by which leases and deadlines are
// written. That of this machine may be another where the ledger is a database.
func (rt *Runtime) ledgerNow(ctx context.Context) (time.Time, error) {
	view, err := rt.store.Load(ctx, Scope{})
	return view.Now, err
}

// note wraps a person's words as event data.
func note(message string) []byte {
	if message == "" {
		return nil
	}
	data, err := json.Marshal(map[string]string{"message": message})
	if err != nil {
		return nil
	}
	return data
}
