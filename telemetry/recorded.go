// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"time"

	"github.com/deed-run/deed"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Recorded counts what an event of the ledger moved and notes the important
// ones on the span of the call that caused them.
func (o *Observer) Recorded(ctx context.Context, event deed.Event) {
	o.countMove(ctx, event)
	o.timeApproval(ctx, event)
	f := flightFrom(ctx)
	switch event.Name {
	case deed.EventBegun, deed.EventContinued, deed.EventProposed, deed.EventProposalVoided:
		if f != nil && f.call.Tool == event.Tool && f.call.Principal.Tenant == event.Tenant {
			o.remember(f, event)
		}
	case deed.EventLeaseLost:
		o.meters.leaseLosses.Add(ctx, 1, metric.WithAttributes(o.tools.labels(event.Tool)...))
	}
	name := spanEvent(event)
	if name == "" {
		return
	}
	if d, ok := o.attempts.get(attemptKey{event.Tenant, event.OperationID, event.Attempt}); ok && d.flight != nil && event.Name != deed.EventLeaseLost {
		f = d.flight
	}
	if f == nil || f.call.Tool != event.Tool {
		return
	}
	attributes := trace.WithAttributes(keyOperationID.String(string(event.OperationID)))
	if event.Attempt > 0 {
		attributes = trace.WithAttributes(keyOperationID.String(string(event.OperationID)), keyAttempt.Int(event.Attempt))
	}
	f.span.AddEvent(name, attributes)
}

// countMove keeps the number of operations by status, as far as this process
// moved them: the sum over all processes since the ledger was new.
func (o *Observer) countMove(ctx context.Context, event deed.Event) {
	if event.From == event.To {
		return
	}
	if event.From != deed.StatusNone {
		o.meters.operations.Add(ctx, -1, metric.WithAttributes(keyStatus.String(string(event.From))))
	}
	if event.To != deed.StatusNone {
		o.meters.operations.Add(ctx, 1, metric.WithAttributes(keyStatus.String(string(event.To))))
	}
}

// timeApproval measures how long a proposal waited. One that another process
// recorded is taken to be as old as its operation's id.
func (o *Observer) timeApproval(ctx context.Context, event deed.Event) {
	if event.To == deed.StatusAwaitingApproval && (event.Name == deed.EventProposed || event.Name == deed.EventProposalVoided) {
		o.proposals.put(event.OperationID, event.At)
	}
	if event.From != deed.StatusAwaitingApproval || event.To == deed.StatusAwaitingApproval {
		return
	}
	since, ok := o.proposals.get(event.OperationID)
	if !ok {
		since, ok = bornAt(event.OperationID)
	}
	if !ok {
		return
	}
	o.meters.approvalWait.Record(ctx, max(0, event.At.Sub(since)).Seconds(),
		metric.WithAttributes(keyApprovalDecision.String(approvalDecision(event))))
}

func approvalDecision(event deed.Event) string {
	switch event.To {
	case deed.StatusAuthorized, deed.StatusExecuting:
		return "approved"
	case deed.StatusDenied, deed.StatusExpired, deed.StatusCancelled:
		return string(event.To)
	}
	return "settled"
}

func spanEvent(event deed.Event) string {
	switch event.Name {
	case deed.EventBegun, deed.EventContinued:
		return eventClaimed
	case deed.EventLeaseLost:
		return eventLost
	case deed.EventName(deed.Replay):
		return eventReplayed
	}
	switch {
	case event.From == event.To:
		return ""
	case event.To == deed.StatusCommitted:
		return eventStored
	case event.To == deed.StatusUncertain:
		return eventUnclear
	}
	return ""
}

// bornAt reads the time in an operation's id: the first ten of its base32
// characters are milliseconds.
func bornAt(id deed.OperationID) (time.Time, bool) {
	const prefix, digits, alphabet = 3, 10, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	if len(id) < prefix+digits {
		return time.Time{}, false
	}
	var ms int64
	for _, c := range id[prefix : prefix+digits] {
		value := int64(-1)
		for i, letter := range alphabet {
			if letter == c {
				value = int64(i)
			}
		}
		if value < 0 {
			return time.Time{}, false
		}
		ms = ms<<5 | value
	}
	return time.UnixMilli(ms), true
}
