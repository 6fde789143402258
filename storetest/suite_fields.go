// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"reflect"
	"time"

	"github.com/deed-run/deed"
)

// fieldCases fail when a record gains a field that the samples leave empty:
// what no sample carries, no store is known to keep.
var fieldCases = []testCase{
	{"every field of an operation is kept", func(f *fixture) {
		var seen []any
		for _, status := range []deed.Status{deed.StatusExecuting, deed.StatusAwaitingInput, deed.StatusFailed, deed.StatusCommitted} {
			op := f.with(status, func(op *deed.Operation) { f.fill(op, status) })
			got := f.get(op.ID)
			f.equal(string(status), got, op)
			seen = append(seen, *op, op.Attempts[0], op.Key, *op.Approval, op.Approval.Votes[0], op.Attempts[0].Bookings[0])
			for _, receipt := range op.Receipts {
				seen = append(seen, receipt, receipt.Items[0])
			}
		}
		f.everyFieldSet(seen)
	}},
	{"every field of an event is kept", func(f *fixture) {
		op := f.with(deed.StatusCommitted, nil)
		event := f.event(op, deed.EventSucceeded)
		event.Reason = deed.ReasonStored
		f.append(deed.Durable, event)
		f.equal("the event", f.events(deed.EventQuery{Tenant: tenant}), []deed.Event{event})
		f.everyFieldSet([]any{event})
	}},
}

// fill sets what operation and toStatus leave empty.
func (f *fixture) fill(op *deed.Operation, status deed.Status) {
	now := f.clock.Now()
	op.Key.Actor = op.Actor
	op.Reason, op.Message, op.DecidedBy = deed.ReasonRefused, "a message", "jane"
	op.Retryable = status == deed.StatusFailed
	op.NoMoreAttempts, op.Diverged, op.Contradicted, op.ApprovalLapsed, op.ResultIsError = true, true, true, true, true
	op.Result, op.ResultDigest = []byte(`{"ok":true}`), digestOf("result")
	op.RequestState, op.Inputs, op.AnsweredState = digestOf("state"), digestOf("inputs"), digestOf("answered")
	op.Supersedes, op.SupersededBy = operationID(900), operationID(901)
	f.consent(op, "ap_"+string(op.ID))
	op.Approval.SpentAt, op.Approval.Revision = now, "revision 7"
	op.ExpiresAt, op.RetryAt, op.DeliveredAt = now.Add(2*time.Hour), now.Add(time.Second), now
	a := &op.Attempts[0]
	a.Claimant, a.Claim = digestOf("claimant"), digestOf("claim")
	a.Continues, a.Cleared, a.Proved, a.Outcome, a.EndedAt, a.TaskID = 1, true, true, deed.OutcomeTask, now, "task-1"
	a.LookedUpAt = "https://shop.example"
	a.KeyPlace = "header Idempotency-Key"
	a.NewProviderKey, a.Marks = true, &deed.Marks{Marker: "m", ClientID: "c"}
	a.Probing = &deed.Probing{Tries: 3, Misses: 1, FirstMiss: now, LastMiss: now, LastAt: now, NextAt: now.Add(time.Second), LeasedUntil: now.Add(time.Minute)}
	a.Bookings = []deed.Booking{{
		Budget: "refunds", Scope: "actor:support", Currency: "EUR", Amount: 12_500_000, Reserved: 12_000_000, State: deed.BookingSpent, At: now,
	}}
	for i := range op.Receipts {
		op.Receipts[i].Items[0].RemoteID, op.Receipts[i].Items[0].Reason = "re_item", "a reason"
	}
}

// everyFieldSet reports fields that are zero in all samples of their type.
func (f *fixture) everyFieldSet(samples []any) {
	f.Helper()
	// A receipt's result is how an answer is handed over, an attempt's arguments
	// how the snapshot is; both are stored with the operation. Whether it may
	// still send is asked of a live attempt only.
	set := map[string]bool{"Receipt.Result": true, "Attempt.Arguments": true, "Attempt.MaySend": true}
	for _, sample := range samples {
		v := reflect.ValueOf(sample)
		for i := range v.NumField() {
			name := v.Type().Name() + "." + v.Type().Field(i).Name
			set[name] = set[name] || !v.Field(i).IsZero()
		}
	}
	for name, ever := range set {
		if !ever {
			f.Errorf("no sample sets %s: add it to fill, and see that the stores keep it", name)
		}
	}
}
