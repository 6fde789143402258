// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"errors"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

var noon = time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)

// inState makes an operation that stands in the given state at noon, with one
// open attempt wherever one may have been begun.
func inState(state deed.State) *deed.Operation {
	op := &deed.Operation{
		ID: "op_1", Tenant: "acme", Actor: "agent", Tool: "pay/refund", Effect: deed.EffectNonIdempotent,
		Key:         deed.Key{Family: deed.FamilyOperation, Text: "refund:order-1042", Generation: 1, Provenance: deed.ProvenanceRuntime},
		Fingerprint: "sha256:a", FingerprintRules: "rules", UpstreamIdentity: "up", RulesHash: "hash",
		CreatedAt: noon.Add(-time.Minute), ProposedAt: noon.Add(-time.Minute), DispatchBy: noon.Add(time.Hour),
		SettledAt: noon.Add(-time.Second), Version: 3,
	}
	attempt := deed.Attempt{Number: 1, Nonce: "n1", BegunAt: noon.Add(-time.Minute), SendBy: noon.Add(time.Minute)}
	approval := &deed.Approval{Digest: "sha256:d", ExpiresAt: noon.Add(time.Hour)}
	switch state {
	case deed.StateNone:
		op.Version = 0
	case deed.StateAwaitingApproval:
		op.Status, op.Approval = deed.StatusAwaitingApproval, approval
	case deed.StateAuthorized:
		op.Status, op.Approval, op.AuthorizedAt = deed.StatusAuthorized, approval, noon
	case deed.StateExecuting:
		op.Status, op.LeaseExpiresAt = deed.StatusExecuting, noon.Add(time.Minute)
		op.Attempts = []deed.Attempt{attempt}
	case deed.StateAwaitingInput:
		op.Status, op.InputExpiresAt = deed.StatusAwaitingInput, noon.Add(time.Hour)
		op.Attempts, op.RequestState = []deed.Attempt{attempt}, "state"
	case deed.StateCommitted:
		attempt.Proved, attempt.EndedAt = true, noon
		op.Status, op.Attempts = deed.StatusCommitted, []deed.Attempt{attempt}
		op.Receipts = []deed.Receipt{{RemoteID: "re_1", Attempt: 1, EstablishedBy: deed.ByReply}}
		op.Result, op.ResultDigest = []byte(`{"id":"re_1"}`), "sha256:r"
	case deed.StateFailedRetryable, deed.StateFailedFinal:
		attempt.Cleared, attempt.EndedAt = true, noon
		op.Status, op.Reason, op.Attempts = deed.StatusFailed, deed.ReasonRefused, []deed.Attempt{attempt}
		op.Retryable = state == deed.StateFailedRetryable
	case deed.StateUncertain:
		op.Status, op.Reason, op.Attempts = deed.StatusUncertain, deed.ReasonOutcomeUnknown, []deed.Attempt{attempt}
	case deed.StateAbandoned:
		op.Status, op.Reason, op.Attempts = deed.StatusUncertain, deed.ReasonAbandoned, []deed.Attempt{attempt}
	case deed.StateDenied:
		op.Status, op.Reason = deed.StatusDenied, deed.ReasonByPerson
	case deed.StateCancelled:
		op.Status, op.Reason = deed.StatusCancelled, deed.ReasonCancelled
	case deed.StateExpired:
		op.Status, op.Reason, op.ApprovalLapsed = deed.StatusExpired, deed.ReasonNeverRan, true
	}
	return op
}

// plausible makes the cause of an event such that every guard is content.
func plausible(event deed.EventName) deed.Cause {
	return deed.Happened(event, noon).With(func(c *deed.CauseParts) {
		c.Again, c.Arrived, c.DispatchBy = true, noon, noon.Add(time.Hour)
		c.Approval = &deed.Approval{Digest: "sha256:new", ExpiresAt: noon.Add(time.Hour)}
		switch event {
		case deed.EventBegun, deed.EventContinued:
			c.Begin = &deed.Attempt{Number: 2, Nonce: "n2"}
		case deed.EventSucceeded, deed.EventProved, deed.EventResolvedCommitted:
			c.Receipts = []deed.Receipt{{RemoteID: "re_1", Attempt: 1}}
		}
	})
}

// landing is where a cell leads an operation that has one open attempt, the
// current one, and no other proof.
func landing(cell deed.Cell, from deed.State) deed.State {
	switch cell.Target() {
	case "=", "trim":
		return from
	case "R":
		return deed.StateFailedRetryable
	case "L":
		return deed.StateUncertain
	case "i":
		return deed.StateCommitted
	case "m":
		if from == deed.StateAbandoned {
			return deed.StateFailedFinal
		}
		return deed.StateFailedRetryable
	case "p":
		return deed.StateCommitted
	}
	return deed.State(cell.Target())
}

func TestEveryEventInEveryState(t *testing.T) {
	moves := 0
	for _, row := range deed.Transitions() {
		for column, state := range deed.States() {
			cell := row.Cells[column]
			op := inState(state)
			if cell.Note() == "k" || cell.Target() == "p" {
				op.Attempts = []deed.Attempt{{Number: 1, Nonce: "n1"}}
			}
			before := *op
			next, event, err := deed.Apply(op, plausible(row.Event))
			name := string(row.Event) + " in " + string(state)
			var refused *deed.RefusedError
			switch cell.Target() {
			case "·":
				if err == nil || errors.As(err, &refused) {
					t.Errorf("%s cannot occur, got %v, %v", name, next, err)
				}
				continue
			case "!", "never":
				if !errors.As(err, &refused) {
					t.Errorf("%s is refused, got %v", name, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			moves++
			if want := landing(cell, state); next.State() != want {
				t.Errorf("%s (%s): got %s, want %s", name, cell, next.State(), want)
			}
			if next.Version != before.Version+1 || event.Version != next.Version {
				t.Errorf("%s: version %d -> %d, event %d", name, before.Version, next.Version, event.Version)
			}
			if op.Status != before.Status || len(op.Attempts) != len(before.Attempts) || op.Version != before.Version {
				t.Errorf("%s changed the operation it was given", name)
			}
			if event.From != before.Status || event.To != next.Status || event.Name != row.Event {
				t.Errorf("%s: event says %s %s -> %s", name, event.Name, event.From, event.To)
			}
		}
	}
	if moves < 150 {
		t.Errorf("only %d moves were tried", moves)
	}
}

func TestRefusalOfTheCurrentAttempt(t *testing.T) {
	cases := []struct {
		name   string
		change func(*deed.Operation)
		final  bool
		want   deed.State
	}{
		{"proof of an earlier attempt is stored", func(op *deed.Operation) { addAttempt(op, true) }, true, deed.StateCommitted},
		{"another attempt is open", func(op *deed.Operation) { addAttempt(op, false) }, true, deed.StateUncertain},
		{"no more attempts are wanted", func(op *deed.Operation) { op.NoMoreAttempts = true }, false, deed.StateCancelled},
		{"retryable", func(*deed.Operation) {}, false, deed.StateFailedRetryable},
		{"final", func(*deed.Operation) {}, true, deed.StateFailedFinal},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			op := inState(deed.StateExecuting)
			test.change(op)
			cause := deed.Happened(deed.EventRefused, noon).With(func(c *deed.CauseParts) {
				c.Outcome = deed.Outcome{Kind: deed.OutcomeRefused, Final: test.final}
			})
			next, _, err := deed.Apply(op, cause)
			if err != nil || next.State() != test.want {
				t.Fatalf("got %v, %v; want %s", next, err, test.want)
			}
			if !next.Current().Cleared {
				t.Error("the refused attempt is not cleared")
			}
		})
	}
}

// addAttempt makes the first attempt an earlier one, proved or open, and adds
// the current one.
func addAttempt(op *deed.Operation, proved bool) {
	op.Attempts[0].Proved = proved
	op.Attempts = append(op.Attempts, deed.Attempt{Number: 2, Nonce: "n2"})
}

func TestAClearedContinuationClearsWhatItContinued(t *testing.T) {
	op := inState(deed.StateExecuting)
	op.Attempts = append(op.Attempts, deed.Attempt{Number: 2, Nonce: "n2", Continues: 1})
	next, _, err := deed.Apply(op, deed.Happened(deed.EventRefused, noon))
	if err != nil || next.State() != deed.StateFailedRetryable {
		t.Fatalf("got %v, %v", next, err)
	}
}

func TestSuccessOfAnOlderAttemptWaitsForTheCurrentOne(t *testing.T) {
	op := inState(deed.StateExecuting)
	op.Attempts = append(op.Attempts, deed.Attempt{Number: 2, Nonce: "n2"})
	proved, _, err := deed.Apply(op, deed.Happened(deed.EventProved, noon).With(func(c *deed.CauseParts) {
		c.Attempt = 1
		c.Receipts = []deed.Receipt{{RemoteID: "re_1"}}
	}))
	if err != nil || proved.State() != deed.StateExecuting || len(proved.Receipts) != 1 {
		t.Fatalf("the proof of attempt 1 during attempt 2: %v, %v", proved, err)
	}
	for _, event := range []deed.EventName{deed.EventRefused, deed.EventUnclear, deed.EventLeaseLost, deed.EventInputRequested} {
		next, _, err := deed.Apply(proved, deed.Happened(event, noon))
		if err != nil || next.State() != deed.StateCommitted {
			t.Errorf("%s after a stored proof: %v, %v", event, next, err)
		}
	}
}

func TestTwoProofs(t *testing.T) {
	one := []deed.Receipt{{RemoteID: "re_1", Attempt: 1}}
	nameless, batch := deed.Receipt{Attempt: 1}, deed.Receipt{Attempt: 1, Items: []deed.Item{{RemoteID: "re_1"}}}
	cases := []struct {
		name     string
		known    []deed.Receipt
		receipt  deed.Receipt
		receipts int
		diverged bool
	}{
		{"the same remote object is the same effect", one, deed.Receipt{RemoteID: "re_1", Attempt: 2}, 1, false},
		{"another remote object is another effect", one, deed.Receipt{RemoteID: "re_2", Attempt: 2}, 2, true},
		{"the same attempt without an object is the same effect", one, deed.Receipt{Attempt: 1}, 1, false},
		{"another attempt without an object may be another effect", one, deed.Receipt{Attempt: 2}, 2, true},
		{"the object of an attempt that named none", []deed.Receipt{nameless}, deed.Receipt{RemoteID: "re_1", Attempt: 1}, 2, false},
		{"the same object again", []deed.Receipt{nameless, {RemoteID: "re_1", Attempt: 1}}, deed.Receipt{RemoteID: "re_1", Attempt: 1}, 2, false},
		{"another object of an attempt that named none at first", []deed.Receipt{nameless, {RemoteID: "re_1", Attempt: 1}}, deed.Receipt{RemoteID: "re_2", Attempt: 1}, 3, true},
		{"a member of a batch", []deed.Receipt{batch}, deed.Receipt{RemoteID: "re_1", Attempt: 1}, 1, false},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			op := inState(deed.StateCommitted)
			op.Receipts = test.known
			next, _, err := deed.Apply(op, deed.Happened(deed.EventProved, noon).With(func(c *deed.CauseParts) {
				c.Attempt = test.receipt.Attempt
				c.Receipts = []deed.Receipt{test.receipt}
			}))
			if err != nil || len(next.Receipts) != test.receipts || next.Diverged != test.diverged {
				t.Fatalf("receipts %d, diverged %v, %v", len(next.Receipts), next.Diverged, err)
			}
		})
	}
}

func TestALateRefusalContradictsOnlyAPersonsWord(t *testing.T) {
	late := deed.Happened(deed.EventRefusedLate, noon).With(func(c *deed.CauseParts) { c.Attempt = 1 })
	byReply, _, _ := deed.Apply(inState(deed.StateCommitted), late)
	stated := inState(deed.StateCommitted)
	stated.Receipts[0].EstablishedBy = deed.ByOperator + "ana"
	byPerson, _, _ := deed.Apply(stated, late)
	if byReply.Contradicted || !byPerson.Contradicted {
		t.Errorf("contradicted: by reply %v, by person %v", byReply.Contradicted, byPerson.Contradicted)
	}
}

func TestALateProofContradictsADecision(t *testing.T) {
	op := inState(deed.StateUncertain)
	decided, _, err := deed.Apply(op, deed.Happened(deed.EventResolvedNot, noon).With(func(c *deed.CauseParts) { c.By = "operator:ana" }))
	if err != nil || decided.State() != deed.StateFailedRetryable {
		t.Fatalf("got %v, %v", decided, err)
	}
	if decided.Current().Cleared {
		t.Error("a person's word cleared the attempt")
	}
	proved, _, err := deed.Apply(decided, plausible(deed.EventProved))
	if err != nil || proved.State() != deed.StateCommitted || !proved.Contradicted {
		t.Errorf("got %v, %v", proved, err)
	}
}

func TestGuards(t *testing.T) {
	cases := []struct {
		name   string
		state  deed.State
		event  deed.EventName
		change func(*deed.Operation)
	}{
		{"a proposal that ran out of time is not proposed again", deed.StateExpired, deed.EventProposed, func(op *deed.Operation) { op.ApprovalLapsed = false }},
		{"a cancelled proposal is not proposed again", deed.StateExpired, deed.EventProposed, func(op *deed.Operation) { op.NoMoreAttempts = true }},
		{"past the caller's deadline nothing is proposed again", deed.StateExpired, deed.EventProposed, func(op *deed.Operation) { op.ExpiresAt = noon }},
		{"a cancelled failure is not retried", deed.StateFailedRetryable, deed.EventBegun, func(op *deed.Operation) { op.NoMoreAttempts = true }},
		{"an old failure is not retried", deed.StateFailedRetryable, deed.EventBegun, func(op *deed.Operation) { op.DispatchBy = noon }},
		{"a failure is not retried before its time", deed.StateFailedRetryable, deed.EventBegun, func(op *deed.Operation) { op.RetryAt = noon.Add(1) }},
		{"a call from before the failure is no retry", deed.StateFailedRetryable, deed.EventBegun, func(op *deed.Operation) { op.SettledAt = noon.Add(1) }},
		{"an expired approval covers no retry", deed.StateFailedRetryable, deed.EventBegun, func(op *deed.Operation) { op.Approval = &deed.Approval{ExpiresAt: noon} }},
		{"found many is never absent", deed.StateUncertain, deed.EventFoundAbsent, func(op *deed.Operation) { op.Reason = deed.ReasonFoundMany }},
		{"found many is never resolved as not applied", deed.StateUncertain, deed.EventResolvedNot, func(op *deed.Operation) { op.Reason = deed.ReasonFoundMany }},
		{"a denial before any attempt has nothing to prove", deed.StateDenied, deed.EventProved, func(*deed.Operation) {}},
		{"a denial before any attempt cannot be resolved as committed", deed.StateDenied, deed.EventResolvedCommitted, func(*deed.Operation) {}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			op := inState(test.state)
			test.change(op)
			_, _, err := deed.Apply(op, plausible(test.event))
			var refused *deed.RefusedError
			if !errors.As(err, &refused) {
				t.Errorf("got %v, want a refusal", err)
			}
		})
	}
	notAgain := plausible(deed.EventBegun).With(func(c *deed.CauseParts) { c.Again = false })
	if _, _, err := deed.Apply(inState(deed.StateUncertain), notAgain); err == nil {
		t.Error("an uncertain operation was begun again without permission")
	}
}

func TestNoMoreAttemptsTurnsAPermissionIntoACancellation(t *testing.T) {
	for _, event := range []deed.EventName{deed.EventFoundAbsent, deed.EventResolvedNot} {
		op := inState(deed.StateUncertain)
		op.NoMoreAttempts = true
		next, _, err := deed.Apply(op, plausible(event))
		if err != nil || next.State() != deed.StateCancelled {
			t.Errorf("%s: %v, %v", event, next, err)
		}
	}
}

func TestAnUnclearedAttemptMakesTheNextRefusalUncertain(t *testing.T) {
	op := inState(deed.StateUncertain)
	op, _, _ = deed.Apply(op, plausible(deed.EventResolvedNot))
	op, _, err := deed.Apply(op, plausible(deed.EventBegun))
	if err != nil {
		t.Fatal(err)
	}
	op, _, err = deed.Apply(op, deed.Happened(deed.EventRefused, noon))
	if err != nil || op.State() != deed.StateUncertain {
		t.Errorf("a refusal of attempt 2 says nothing about attempt 1: %v, %v", op, err)
	}
}
