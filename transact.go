// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"fmt"
)

// write changes operations in one transaction of the Store and tells the
// Observer what was recorded. change may run more than once, as in
// [Store.Transact]; its events get their ids here.
func (rt *Runtime) write(ctx context.Context, scope Scope, change func(View) (Change, error)) error {
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	var written Change
	_, err := rt.store.Transact(ctx, scope, func(view View) (Change, error) {
		var err error
		written, err = change(view)
		rt.number(written.Events, view)
		return written, err
	})
	if err != nil {
		return err
	}
	rt.recorded(ctx, written.Events)
	return nil
}

// number gives events their ids.
func (rt *Runtime) number(events []Event, view View) {
	for i := range events {
		events[i].ID = newEventID(view.Now, rt.random)
	}
}

func (rt *Runtime) recorded(ctx context.Context, events []Event) {
	for _, event := range events {
		rt.observer.Recorded(ctx, event)
	}
}

// suspect tells the Observer of an operation whose evidence is at odds.
func (rt *Runtime) suspect(ctx context.Context, op *Operation) {
	if op.Diverged || op.Contradicted {
		rt.observer.Violated(ctx, string(op.ID)+": the evidence names more than one effect, or speaks against a decision")
	}
}

// ruleOf is the rule in force for an operation's tool, whatever its definition.
func (rt *Runtime) ruleOf(op *Operation) Rule {
	return rt.policy.Rule(op.Tool, ToolFacts{}).complete()
}

// asTimeHasIt is the operation after what time has done to it by the view, and
// the events of that.
func (rt *Runtime) asTimeHasIt(op *Operation, view View) (*Operation, []Event, error) {
	lapsed, events, err := lapse(op, view.Now, rt.ruleOf(op).Retention)
	if err != nil || lapsed == nil {
		return op, nil, err
	}
	return lapsed, events, nil
}

// visible is the operation of the view, if there is one that the principal may
// see and the right to change it.
func (p Principal) visible(id OperationID, view View, right Right) (*Operation, error) {
	op := view.Operation
	switch {
	case op == nil, !p.reads(op.Actor):
		return nil, fmt.Errorf("%s: %w", id, ErrNotFound)
	case right != "" && !p.May(right):
		return nil, fmt.Errorf("%s: %w: it takes the right %q", id, ErrForbidden, right)
	}
	return op, nil
}
