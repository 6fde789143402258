// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "time"

// lapse writes what time alone has done to an operation by now: a lost lease,
// a question nobody answered, a proposal or a right to begin that ran out. It
// returns nil when nothing has.
func lapse(op *Operation, now time.Time, retain time.Duration) (*Operation, []Event, error) {
	if op == nil {
		return nil, nil, nil
	}
	at := op.LapsesAt()
	if at.IsZero() || now.Before(at) {
		return nil, nil, nil
	}
	c := cause{at: now, actor: op.Actor, retain: retain}
	switch op.State() {
	case StateExecuting:
		c.event = EventLeaseLost
		c.message = "the process that sent it did not report back"
	case StateAwaitingInput:
		c.event = EventInputLapsed
		c.message = "nobody answered the tool's question in time"
	case StateAwaitingApproval, StateAuthorized:
		c.event = EventApprovalLapsed
		if !now.Before(op.DispatchBy) {
			c.event = EventTimeRanOut
		}
	default:
		c.event = EventTimeRanOut
	}
	next, event, err := apply(op, c)
	if err != nil {
		return nil, nil, err
	}
	return next, []Event{event}, nil
}
