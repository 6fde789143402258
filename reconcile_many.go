// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Resolved is what a resolution of many did to one operation, or would do.
type Resolved struct {
	Operation *Operation
	// Err says why it was refused; nil where it was resolved, or would be.
	Err error
}

// ResolveMany records one decision about every operation that the query
// selects and that may be resolved that way. With dry nothing is written and
// the list says what would be. Each operation is its own transaction: what was
// resolved before an error stays so, and the list says what was. A decision
// about many can name no remote ids.
func (rt *Runtime) ResolveMany(ctx context.Context, who Principal, query Query, res Resolution, dry bool) ([]Resolved, error) {
	if len(res.RemoteIDs) > 0 || res.Version != 0 || len(res.Items) > 0 {
		return nil, errors.New("resolving many: remote ids, items and a version belong to one operation")
	}
	if !who.May(RightResolve) {
		return nil, fmt.Errorf("resolving many: %w: it takes the right %q", ErrForbidden, RightResolve)
	}
	var list []Resolved
	query.Limit, query.Before = recoverPage, ""
	for {
		page, err := rt.List(ctx, who, query)
		if err != nil {
			return list, err
		}
		for _, op := range page.Operations {
			one := Resolved{Operation: op}
			if dry {
				one.Err = rt.wouldResolve(ctx, op, who, res)
			} else if op, err := rt.Resolve(ctx, who, op.ID, res); err != nil {
				one.Err = err
			} else {
				one.Operation = op
			}
			if errors.Is(one.Err, ErrUnavailable) || ctx.Err() != nil {
				return append(list, one), errors.Join(one.Err, ctx.Err())
			}
			list = append(list, one)
		}
		if page.Next == "" {
			return list, nil
		}
		query.Before = page.Next
	}
}

// wouldResolve tries the decision without writing it.
func (rt *Runtime) wouldResolve(ctx context.Context, op *Operation, who Principal, res Resolution) error {
	decide, err := resolving(op.ID, who, res)
	if err != nil {
		return err
	}
	known, err := rt.lookBeside(ctx, op)
	if err != nil {
		return err
	}
	now := rt.clock.Now()
	rule := rt.ruleOf(op)
	if lapsed, _, err := lapse(op, now, rule.Retention); err != nil {
		return err
	} else if lapsed != nil {
		op = lapsed
	}
	c, err := decide(op, rule, now, known)
	if err != nil {
		return err
	}
	c.at, c.actor, c.retain = now, who.Actor, rule.Retention
	_, _, err = apply(op, c)
	return err
}

// NeedsPerson reports whether only a person can move the operation on: it is
// uncertain, and look-ups have ended, found too many, or were never
// configured.
func (rt *Runtime) NeedsPerson(op *Operation, now time.Time) bool {
	if op.EffectiveState(now) != StateUncertain {
		return false
	}
	rule := rt.ruleOf(op)
	if rt.reconciler == nil || rule.GiveUp <= 0 || op.Reason == ReasonFoundMany {
		return true
	}
	current := op.Current()
	return current != nil && current.Probing != nil && !current.Probing.GaveUpAt.IsZero()
}

// Waiting lists the uncertain operations that only a person can move on,
// oldest last, as far as the principal may see them. Before and Limit of the
// query page through them; its other fields select.
func (rt *Runtime) Waiting(ctx context.Context, who Principal, query Query) (Page, error) {
	limit := query.Limit
	if limit <= 0 {
		limit = 50
	}
	now := rt.clock.Now()
	query.Statuses, query.Effective, query.Limit = []Status{StatusUncertain}, now, duePage
	var found Page
	for {
		page, err := rt.List(ctx, who, query)
		if err != nil {
			return found, err
		}
		for _, op := range page.Operations {
			if len(found.Operations) == limit {
				found.Next = found.Operations[limit-1].ID
				return found, nil
			}
			if rt.NeedsPerson(op, now) {
				found.Operations = append(found.Operations, op)
			}
		}
		if page.Next == "" {
			return found, nil
		}
		query.Before = page.Next
	}
}
