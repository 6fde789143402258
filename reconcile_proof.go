// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Proof is what somebody whom the program trusts says about a commit: a
// webhook whose signature was checked, a status callback, a log of one's own.
type Proof struct {
	Tenant Tenant
	// Operation or Marker names what was committed.
	Operation OperationID
	Marker    string
	// Attempt, when not 0, is the attempt that it is about.
	Attempt   int
	RemoteID  string
	RemoteURL string
	// EstablishedBy is "webhook" or "reconcile:<strategy>".
	EstablishedBy string
	// Result answers repeats, if the operation has no result yet.
	Result []byte
	// Evidence is what was received, in short, for the history.
	Evidence string
	Items    []Item
}

// Prove records a proof of commit, whatever the operation's status: it wins
// over every other status, and where a person has said otherwise the operation
// is flagged as contradicted. The same proof again adds nothing. An unknown
// operation, and one of which nothing was ever sent, is ErrNotFound, and
// nothing is stored.
//
// Only pass on what was verified: Prove believes what it is told.
func (rt *Runtime) Prove(ctx context.Context, proof Proof) (*Operation, error) {
	if proof.EstablishedBy != ByWebhook && !strings.HasPrefix(proof.EstablishedBy, ByReconcile) {
		return nil, fmt.Errorf("a proof established by %q: it is %q or %q and a strategy", proof.EstablishedBy, ByWebhook, ByReconcile)
	}
	scope := Scope{Tenant: proof.Tenant, ID: proof.Operation}
	if scope.ID == "" {
		if proof.Marker == "" {
			return nil, errors.New("a proof that names no operation and no marker")
		}
		scope.Keys = []Key{markerKey(proof.Marker)}
	}
	var next *Operation
	err := rt.write(ctx, scope, func(view View) (Change, error) {
		op := view.Operation
		if op == nil || len(op.Attempts) == 0 || proof.Attempt < 0 || proof.Attempt > len(op.Attempts) {
			return Change{}, fmt.Errorf("%s%s: %w with an attempt that could be proved", proof.Operation, proof.Marker, ErrNotFound)
		}
		rule := rt.ruleOf(op)
		number := proof.Attempt
		if number == 0 {
			number = op.latestOpen().Number
		}
		c := cause{
			event: EventProved, at: view.Now, actor: Actor(proof.EstablishedBy), attempt: number,
			retain:  rule.Retention,
			outcome: Outcome{Kind: OutcomeSuccess, Result: proof.Result},
			receipts: []Receipt{{
				RemoteSystem: op.Tool.Upstream(), RemoteID: proof.RemoteID, RemoteURL: proof.RemoteURL, Items: proof.Items,
				Attempt: number, Established: EstablishedFound, EstablishedBy: proof.EstablishedBy,
			}},
		}
		c.actual = rule.charged(c.outcome)
		var event Event
		var err error
		if next, event, err = apply(op, c); err != nil {
			return Change{}, err
		}
		event.Attempt = number
		event.Data = note(proof.Evidence[:min(len(proof.Evidence), maxEvidence)])
		return Change{Put: []*Operation{next}, Events: []Event{event}}, nil
	})
	if err != nil {
		return nil, err
	}
	rt.sights.forget(next)
	rt.suspect(ctx, next)
	return next, nil
}
