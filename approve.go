// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// defaultAskAgain is how many seconds a caller that waits for a person is told
// to wait between two questions.
const defaultAskAgain = 300

// Approve consents to the proposal that waits under id, whose digest the
// consent must name. It needs the right to approve. With a quorum it records
// one vote; the one that completes it makes the operation authorized. It sends
// nothing.
//
// A *ConsentError says why a consent was not taken, who was first, and which
// digest is current.
func (rt *Runtime) Approve(ctx context.Context, who Principal, id OperationID, consent Consent) (*Operation, error) {
	return rt.decideProposal(ctx, who, id, consent, EventApproved)
}

// Deny refuses the proposal that waits under id, or withdraws an approval that
// nothing was begun under. It is final for the operation, and its reason is
// told to the caller. It needs the right to approve; see [Runtime.Approve] for
// its errors.
func (rt *Runtime) Deny(ctx context.Context, who Principal, id OperationID, consent Consent) (*Operation, error) {
	return rt.decideProposal(ctx, who, id, consent, EventApprovalDenied)
}

func (rt *Runtime) decideProposal(ctx context.Context, who Principal, id OperationID, consent Consent, event EventName) (*Operation, error) {
	var next *Operation
	write := rt.writeUnknowing
	if event == EventApproved {
		write = rt.writeKnowing
	}
	err := write(ctx, Scope{Tenant: who.Tenant, ID: id, Consent: consent.ID}, func(view View, known ranBeside) (Change, error) {
		op, events, err := rt.proposal(who, id, view)
		if err == nil && event == EventApproved {
			err = op.intact()
		}
		if err != nil {
			return Change{}, err
		}
		w := word{
			event: event, approver: who.Actor, digest: consent.Digest, id: consent.ID, reason: consent.Reason,
			at: view.Now, consumer: view.ConsentBy, ranBeside: known,
		}
		if who.May(RightRead) {
			w.known = w.consumer
		}
		if no := w.judge(op); no != nil {
			return Change{}, no
		}
		var told Event
		if next, told, err = w.apply(op, rt.ruleOf(op).Retention); err != nil {
			return Change{}, err
		}
		return Change{Put: []*Operation{next}, Events: append(events, told)}, nil
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// proposal is the operation that a person decides about, after what time has
// done to it, and the events of that.
func (rt *Runtime) proposal(who Principal, id OperationID, view View) (*Operation, []Event, error) {
	op, err := who.visible(id, view, RightApprove)
	if err != nil {
		return nil, nil, err
	}
	return rt.asTimeHasIt(op, view)
}

// apply moves the operation by the word, which has been judged.
func (w word) apply(op *Operation, retain time.Duration) (*Operation, Event, error) {
	c := cause{event: w.event, at: w.at, actor: w.approver, retain: retain}
	data := map[string]any{}
	if w.reason != "" {
		data["message"] = w.reason
	}
	if w.event == EventApproved {
		c.approval = w.consented(op)
		data["votes"], data["quorum"] = len(c.approval.Votes), max(1, c.approval.Quorum)
		if w.id != "" {
			data["consent_id"] = w.id
		}
	} else {
		c.by, c.message, c.reason = string(w.approver), w.reason, ReasonByPerson
	}
	next, event, err := apply(op, c)
	if err != nil {
		return nil, Event{}, err
	}
	event.Data, err = json.Marshal(data)
	return next, event, err
}

// Ready lists operations of every tenant, oldest first, that a gateway is to
// run because they have been approved: authorized, with run on_approval, and
// still inside their time. Each is dispatched once, whoever tries; at most
// limit are returned. They come without arguments.
func (rt *Runtime) Ready(ctx context.Context, limit int) ([]*Operation, error) {
	now, err := rt.ledgerNow(ctx)
	if err != nil {
		return nil, err
	}
	var ready []*Operation
	// Every authorized operation lapses some day: a query by that crosses tenants.
	query := Query{Statuses: []Status{StatusAuthorized}, Lapsed: now.AddDate(1000, 0, 0), Limit: recoverPage}
	for {
		page, err := rt.store.List(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, op := range page.Operations {
			if op.State() == StateAuthorized && op.Approval != nil && op.Approval.Run == RunOnApproval && now.Before(op.LapsesAt()) {
				ready = append(ready, op)
			}
		}
		if query.Before = page.Next; page.Next == "" {
			break
		}
	}
	slices.Reverse(ready) // the newest come first from the ledger
	return ready[:min(limit, len(ready))], nil
}
