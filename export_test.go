// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "time"

// What the external tests of this package need to drive the pure parts.

type (
	Cause   = cause
	Inquiry = inquiry
	Ruling  = ruling
)

var (
	Apply          = apply
	Decide         = decide
	DecideTwins    = decideTwins
	CellOf         = cellOf
	Lapse          = lapse
	DeriveKey      = deriveKey
	NewOperationID = newOperationID
	MatterOf       = matterOf
	CheckKey       = checkKey
)

// Happened makes the cause of an event at a moment.
func Happened(event EventName, at time.Time) Cause {
	return Cause{event: event, at: at, actor: "tester", lease: time.Minute, retain: time.Hour, input: time.Hour}
}

// With sets the parts of a cause that tests vary.
func (c cause) With(change func(*CauseParts)) Cause {
	parts := CauseParts{
		Attempt: c.attempt, Begin: c.begin, Outcome: c.outcome, Receipts: c.receipts, By: c.by, Reason: c.reason,
		Approval: c.approval, DispatchBy: c.dispatchBy, Again: c.again, Arrived: c.arrived, Successor: c.successor,
	}
	change(&parts)
	c.attempt, c.begin, c.outcome, c.receipts, c.by, c.reason = parts.Attempt, parts.Begin, parts.Outcome, parts.Receipts, parts.By, parts.Reason
	c.approval, c.dispatchBy, c.again, c.arrived, c.successor = parts.Approval, parts.DispatchBy, parts.Again, parts.Arrived, parts.Successor
	return c
}

// CauseParts are the fields of a cause.
type CauseParts struct {
	Attempt    int
	Begin      *Attempt
	Outcome    Outcome
	Receipts   []Receipt
	By         string
	Reason     Reason
	Approval   *Approval
	DispatchBy time.Time
	Again      bool
	Arrived    time.Time
	Successor  OperationID
}

// Question is an inquiry under construction.
type Question struct {
	Now          time.Time
	Arrived      time.Time
	Principal    Principal
	Rule         Rule
	Facts        ToolFacts
	Provenance   Provenance
	Fingerprints map[Digest]Fingerprint
	Current      Digest
	Claimed      Fingerprint
	Matter       Matter
	Continues    bool
	State        Digest
	Inputs       Digest
	Joined       map[OperationID]bool
	View         View
}

// Decide answers the question.
func (q Question) Decide() (Ruling, string) {
	r := decide(inquiry{
		now: q.Now, arrived: q.Arrived, principal: q.Principal, rule: q.Rule, facts: q.Facts,
		provenance: q.Provenance, fingerprints: q.Fingerprints, current: q.Current, claimed: q.Claimed,
		matter: q.Matter, continues: q.Continues, state: q.State, inputs: q.Inputs, joined: q.Joined, view: q.View,
	})
	return r, r.Word()
}

// Word prints a ruling as the tables do.
func (r ruling) Word() string {
	switch r.act {
	case actBegin:
		if r.alias {
			return "alias and begin"
		}
		if r.supersedes != nil {
			return "new generation"
		}
		return "begin"
	case actWait:
		return "wait"
	case actPropose:
		return "propose"
	case actFollow:
		return "successor"
	}
	word := string(r.decision)
	if r.reason != "" {
		word += "(" + string(r.reason) + ")"
	}
	if r.alias {
		word += " alias"
	}
	return word
}

// SimilarTo and Hidden show the rest of a ruling.
func (r ruling) SimilarTo() OperationID { return r.similarTo }
func (r ruling) Hidden() bool           { return r.hidden }
func (r ruling) Warning() string        { return r.warning }

// Answered prints the decision that a ruling has when nobody waits.
func (r ruling) Answered() string {
	r.act = actAnswer
	return r.Word()
}
