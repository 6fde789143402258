// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"maps"
	"slices"
	"time"

	"github.com/deed-run/deed"
)

// copyOperation shares nothing with the operation that it copies, and keeps
// its times as a ledger would.
func copyOperation(op *deed.Operation) *deed.Operation {
	next := *op
	next.Arguments = slices.Clone(op.Arguments)
	next.Result = slices.Clone(op.Result)
	next.Meta = maps.Clone(op.Meta)
	next.Attempts = slices.Clone(op.Attempts)
	for i := range next.Attempts {
		a := &next.Attempts[i]
		ledgerTimes(&a.BegunAt, &a.SendBy, &a.EndedAt)
		if a.Marks != nil {
			marks := *a.Marks
			a.Marks = &marks
		}
		if a.Probing != nil {
			probing := *a.Probing
			ledgerTimes(&probing.FirstMiss, &probing.LastMiss, &probing.LastAt, &probing.NextAt, &probing.LeasedUntil, &probing.GaveUpAt)
			a.Probing = &probing
		}
		a.Bookings = slices.Clone(a.Bookings)
		for j := range a.Bookings {
			ledgerTimes(&a.Bookings[j].At)
		}
	}
	next.Receipts = slices.Clone(op.Receipts)
	for i := range next.Receipts {
		r := &next.Receipts[i]
		ledgerTimes(&r.CommittedAt)
		r.Items = slices.Clone(r.Items)
		for j := range r.Items {
			r.Items[j].Detail = slices.Clone(r.Items[j].Detail)
		}
	}
	if op.Approval != nil {
		approval := *op.Approval
		approval.Approvers, approval.MayApprove = slices.Clone(approval.Approvers), slices.Clone(approval.MayApprove)
		approval.Votes = slices.Clone(approval.Votes)
		for i := range approval.Votes {
			ledgerTimes(&approval.Votes[i].At)
		}
		ledgerTimes(&approval.ExpiresAt, &approval.SpentAt, &approval.AskedAt)
		next.Approval = &approval
	}
	ledgerTimes(&next.CreatedAt, &next.ProposedAt, &next.AuthorizedAt, &next.ExpiresAt,
		&next.LeaseExpiresAt, &next.InputExpiresAt, &next.RetryAt, &next.SettledAt,
		&next.DeliveredAt, &next.DispatchBy, &next.RetainUntil)
	return &next
}

// light is a copy without arguments and results.
func light(op *deed.Operation) *deed.Operation {
	next := *op
	next.Arguments, next.Result = nil, nil
	return copyOperation(&next)
}

func copyEvent(event deed.Event) deed.Event {
	event.Data = slices.Clone(event.Data)
	ledgerTimes(&event.At)
	return event
}

func copyView(view deed.View) deed.View {
	if view.Operation != nil {
		view.Operation = copyOperation(view.Operation)
	}
	view.Lineage = copyAll(view.Lineage)
	view.Twins = copyAll(view.Twins)
	view.Refused = slices.Clone(view.Refused)
	for i := range view.Refused {
		view.Refused[i].Operation = copyOperation(view.Refused[i].Operation)
	}
	view.OtherRules = slices.Clone(view.OtherRules)
	return view
}

func copyAll(operations []*deed.Operation) []*deed.Operation {
	if operations == nil {
		return nil
	}
	copies := make([]*deed.Operation, len(operations))
	for i, op := range operations {
		copies[i] = copyOperation(op)
	}
	return copies
}

// ledgerTimes rounds down to the microsecond, which is what a ledger keeps.
func ledgerTimes(times ...*time.Time) {
	for _, t := range times {
		if !t.IsZero() {
			*t = t.UTC().Truncate(time.Microsecond)
		}
	}
}
