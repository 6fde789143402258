// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Get returns one operation with arguments and result. What the principal may
// not see does not exist: ErrNotFound. Arguments that are not the frozen ones are
// not shown: *DamagedError.
func (rt *Runtime) Get(ctx context.Context, who Principal, id OperationID) (*Operation, error) {
	op, err := rt.recordOf(ctx, who, id)
	if err != nil {
		return nil, err
	}
	if err := op.intact(); err != nil {
		return nil, err
	}
	return op, nil
}

// recordOf is Get without a look at the arguments.
func (rt *Runtime) recordOf(ctx context.Context, who Principal, id OperationID) (*Operation, error) {
	view, err := rt.store.Load(ctx, Scope{Tenant: who.Tenant, ID: id})
	if err != nil {
		return nil, err
	}
	if view.Operation == nil || !who.reads(view.Operation.Actor) {
		return nil, fmt.Errorf("%s: %w", id, ErrNotFound)
	}
	return view.Operation, nil
}

// List returns a page of the operations that the principal may see: all of
// its tenant with the right to read, its own otherwise.
func (rt *Runtime) List(ctx context.Context, who Principal, query Query) (Page, error) {
	query.Tenant = who.Tenant
	if !who.May(RightRead) {
		if query.Actor != "" && query.Actor != who.Actor {
			return Page{}, nil
		}
		query.Actor = who.Actor
	}
	if query.Effective.IsZero() {
		query.Effective = rt.clock.Now()
	}
	return rt.store.List(ctx, query)
}

// Events returns the history of one operation that the principal may see.
func (rt *Runtime) Events(ctx context.Context, who Principal, id OperationID) ([]Event, error) {
	if _, err := rt.recordOf(ctx, who, id); err != nil {
		return nil, err
	}
	return rt.store.Events(ctx, EventQuery{Tenant: who.Tenant, Operation: id})
}

// ResolutionOutcome is what a person says became of an uncertain operation.
type ResolutionOutcome string

const (
	ResolveCommitted  ResolutionOutcome = "committed"
	ResolveNotApplied ResolutionOutcome = "not_applied"
	// ResolveAbandon closes the question without an answer: nothing runs, a
	// late proof still commits, and it can be resolved later.
	ResolveAbandon ResolutionOutcome = "abandon"
)

// Resolution is a person's decision about an operation, with its reason.
type Resolution struct {
	Outcome   ResolutionOutcome
	RemoteIDs []string
	// Items are the outcomes of the members of a batch, with ResolveCommitted;
	// none of them may be unknown.
	Items  []Item
	Reason string
	// NewProviderKey, with ResolveNotApplied, presents the next attempt under
	// another provider key: for providers that store a failure under the old
	// one and answer it for ever.
	NewProviderKey bool
	// Version, when not 0, is the version that the person looked at; the
	// decision is refused if the operation has moved since.
	Version int64
	// Force decides although the process that sent it may still be at work, and
	// names another object beside one that the receipts of a committed operation
	// name: that it happened once more, which nothing takes back.
	// With ResolveNotApplied it authorises a second effect, also where a call was
	// sent in observe mode beside the operation.
	Force bool
}

// Resolve records a person's decision. It needs the right to resolve. A
// *RefusedError says that the operation cannot be resolved where it stands.
func (rt *Runtime) Resolve(ctx context.Context, who Principal, id OperationID, res Resolution) (*Operation, error) {
	decide, err := resolving(id, who, res)
	if err != nil {
		return nil, err
	}
	write := rt.writeUnknowing
	if res.Outcome == ResolveNotApplied {
		write = rt.writeKnowing
	}
	return rt.operate(ctx, who, id, RightResolve, write, decide)
}

// resolving is the pure part of Resolve.
func resolving(id OperationID, who Principal, res Resolution) (deciding, error) {
	if strings.TrimSpace(res.Reason) == "" {
		return nil, fmt.Errorf("%s: resolving needs a reason: say how you know", id)
	}
	if res.NewProviderKey && res.Outcome != ResolveNotApplied {
		return nil, fmt.Errorf("%s: a new provider key goes with not_applied: nothing else lets another attempt leave", id)
	}
	for _, item := range res.Items {
		if res.Outcome != ResolveCommitted || item.Outcome != OutcomeSuccess && item.Outcome != OutcomeRefused {
			return nil, fmt.Errorf("%s: item %q: the items of a committed batch are success or refused; one that nobody knows leaves it uncertain", id, item.ID)
		}
	}
	event, ok := map[ResolutionOutcome]EventName{
		ResolveCommitted: EventResolvedCommitted, ResolveNotApplied: EventResolvedNot, ResolveAbandon: EventResolvedAbandoned,
	}[res.Outcome]
	if !ok {
		return nil, fmt.Errorf("%s: resolving as %q: the outcomes are committed, not_applied, abandon", id, res.Outcome)
	}
	by := operatorName(who)
	return func(op *Operation, rule Rule, now time.Time, known ranBeside) (cause, error) {
		if res.Version != 0 && res.Version != op.Version {
			return cause{}, fmt.Errorf("%s: %w: version %d was looked at, it is %d now", id, ErrVersion, res.Version, op.Version)
		}
		if op.State() == StateExecuting {
			return cause{}, &RefusedError{Operation: op, Event: event, Hint: "an attempt is running and its process reports; wait for it, or cancel the operation so that no other attempt follows"}
		}
		if why := holderMayLive(op, rule, now); why != "" && !res.Force {
			return cause{}, &RefusedError{Operation: op, Event: event, Hint: why}
		}
		if known.holds(op, rule.Effect) && res.Outcome == ResolveNotApplied && !res.Force {
			return cause{}, &RefusedError{Operation: op, Event: event, Hint: known.text + "; if you know that it had no effect either, force it: then an attempt may follow"}
		}
		if why := secondObject(op, res); why != "" && !res.Force {
			return cause{}, &RefusedError{Operation: op, Event: event, Hint: why}
		}
		c := cause{event: event, by: by, message: res.Reason, reason: ReasonResolved, dispatchBy: now.Add(rule.MaxAge)}
		if event == EventResolvedCommitted {
			c.receipts = statedReceipts(res.RemoteIDs, by, op)
			c.receipts[0].Items = res.Items
		}
		if res.NewProviderKey {
			current := op.Current()
			if current == nil || current.ProviderKey == "" {
				return cause{}, &RefusedError{Operation: op, Event: event, Hint: "it was sent without a provider key"}
			}
			if bytes.Contains(op.Arguments, []byte(current.ProviderKey)) {
				return cause{}, &RefusedError{Operation: op, Event: event, Hint: "the provider key is part of the frozen bytes; resolve it without a new key, or act anew under another operation key"}
			}
			c.newProviderKey = true
		}
		return c, nil
	}, nil
}

// holderMayLive says why it is too early to decide about an attempt whose
// process lost its lease without reporting: it may still send or hear.
func holderMayLive(op *Operation, rule Rule, now time.Time) string {
	current := op.Current()
	if current == nil || !current.EndedAt.IsZero() || op.Status == StatusCommitted {
		return "" // of what is committed nothing is left to hear
	}
	if until := current.SendBy.Add(rule.Timeout); now.Before(until) {
		return fmt.Sprintf("the process that sent it may still hear of it until %s; wait until then, or force it (only with not_applied does that risk a second effect)", until.UTC().Format(time.RFC3339))
	}
	return ""
}

// secondObject says what it means to name another object for an operation whose
// receipts name one already: that it happened once more. Nothing takes that
// back, and a slip looks the same.
func secondObject(op *Operation, res Resolution) string {
	if op.Status != StatusCommitted || res.Outcome != ResolveCommitted {
		return ""
	}
	var named []string
	who := "its receipts name"
	for _, r := range op.Receipts {
		if r.RemoteID != "" {
			named = append(named, r.RemoteID)
		}
	}
	for _, id := range res.RemoteIDs {
		if len(named) == 0 {
			named, who = append(named, id), "you name" // the object of a receipt without a name
		}
		if !slices.Contains(named, id) {
			return fmt.Sprintf("%s %s already: %s besides says that it happened more than once, which is marked and, where it has an amount, booked once more, and cannot be taken back; if that is what you saw, force it", who, strings.Join(named, ", "), id)
		}
	}
	return ""
}

// operatorName names the person behind a decision; an actor may carry the
// prefix already.
func operatorName(who Principal) string {
	return ByOperator + strings.TrimPrefix(string(who.Actor), ByOperator)
}

func statedReceipts(ids []string, by string, op *Operation) []Receipt {
	if len(ids) == 0 {
		ids = []string{""}
	}
	list := make([]Receipt, 0, len(ids))
	for _, id := range ids {
		list = append(list, Receipt{
			RemoteSystem: op.Tool.Upstream(), RemoteID: id, Established: EstablishedStated, EstablishedBy: by,
		})
	}
	return list
}

// Cancel withdraws an operation. Before begin nothing will be sent; after it,
// no further attempt is made and the outcome of the present one stands. The
// actor of the operation may cancel it, and whoever may resolve.
func (rt *Runtime) Cancel(ctx context.Context, who Principal, id OperationID, reason string) (*Operation, error) {
	return rt.operate(ctx, who, id, "", rt.writeUnknowing, func(*Operation, Rule, time.Time, ranBeside) (cause, error) {
		return cause{event: EventCancelRequested, by: string(who.Actor), message: reason, reason: ReasonCancelled}, nil
	})
}

// Reopen makes a finally failed operation retryable again and restarts its
// age. It needs the right to resolve.
func (rt *Runtime) Reopen(ctx context.Context, who Principal, id OperationID, reason string) (*Operation, error) {
	return rt.operate(ctx, who, id, RightResolve, rt.writeUnknowing, func(_ *Operation, rule Rule, now time.Time, _ ranBeside) (cause, error) {
		return cause{event: EventReopened, by: operatorName(who), message: reason, dispatchBy: now.Add(rule.MaxAge)}, nil
	})
}

// deciding is the pure part of a person's event: what it is for an operation,
// under its rule, at a time, with what observe mode has sent beside it.
type deciding func(op *Operation, rule Rule, now time.Time, known ranBeside) (cause, error)

// operate applies a person's event: what time has done is written first, then
// the event, in one transaction.
func (rt *Runtime) operate(ctx context.Context, who Principal, id OperationID, right Right, write writer, decide deciding) (*Operation, error) {
	var next *Operation
	err := write(ctx, Scope{Tenant: who.Tenant, ID: id}, func(view View, known ranBeside) (Change, error) {
		op, err := who.visible(id, view, right)
		if err != nil {
			return Change{}, err
		}
		if right == "" && op.Actor != who.Actor && !who.May(RightResolve) {
			return Change{}, fmt.Errorf("%s: %w: it takes the right %q", id, ErrForbidden, RightResolve)
		}
		rule := rt.ruleOf(op)
		op, events, err := rt.asTimeHasIt(op, view)
		if err != nil {
			return Change{}, err
		}
		c, err := decide(op, rule, view.Now, known)
		if err != nil {
			return Change{}, err
		}
		c.at, c.actor, c.retain = view.Now, who.Actor, rule.Retention
		var event Event
		if next, event, err = apply(op, c); err != nil {
			return Change{}, err
		}
		event.Data = note(c.message)
		return Change{Put: []*Operation{next}, Events: append(events, event)}, nil
	})
	if err != nil {
		return nil, err
	}
	rt.suspect(ctx, next)
	return next, nil
}
