// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "time"

// equality says in what respect two operations are twins.
type equality int

const (
	equalMatter equality = iota
	equalFingerprint
)

// personsNoHolds is how long a person's no, or a refused conflict, holds for
// keys that no runtime gave.
const personsNoHolds = 24 * time.Hour

// decideTwins is table 5: every begin passes it against all other operations
// of the tool with an equal fingerprint or an equal matter. The strictest row
// wins. own is the operation that wants to begin, nil if it is new.
func decideTwins(q inquiry, own *Operation) ruling {
	best := ruling{act: actBegin, decision: Execute, op: own}
	rank := 0
	for _, twin := range q.view.Twins {
		if own != nil && twin.ID == own.ID {
			continue
		}
		equal, related := q.compare(twin)
		if !related {
			continue
		}
		r := decideTwin(q, own, twin, equal)
		if n := severity(r); n > rank {
			similar := best.similarTo
			best, rank = r, n
			if best.similarTo == "" {
				best.similarTo = similar
			}
		} else if best.similarTo == "" {
			best.similarTo = r.similarTo
		}
	}
	if rank == 0 {
		return q.afterConflict(best)
	}
	if best.act == actWait && q.rule.TwinsExecuting && q.provenance.explicit() {
		best.act, best.decision, best.reason, best.op = actBegin, Execute, "", own
	}
	return best
}

// compare tells in what respect another operation is a twin of the call.
func (q inquiry) compare(twin *Operation) (equality, bool) {
	if fingerprint, known := q.fingerprintFor(twin); known && fingerprint == twin.Fingerprint {
		return equalFingerprint, true
	}
	if q.matter != "" && q.matter == twin.Matter {
		return equalMatter, true
	}
	return equalMatter, false
}

// concurrent reports whether the call came while the twin was still running:
// it waited for it, or was only looked at after the twin had settled.
func (q inquiry) concurrent(twin *Operation) bool {
	return q.joined[twin.ID] || q.arrived.Before(twin.SettledAt)
}

// beforeBegin reports whether the ledger's clock is behind the time at which it
// wrote the twin's attempt. Which of two idempotent operations of a matter is the
// later one is told by the times of their attempts.
func (q inquiry) beforeBegin(twin *Operation) bool {
	current := twin.Current()
	return current != nil && q.now.Before(current.BegunAt)
}

// severity orders the rows: what blocks most wins.
func severity(r ruling) int {
	switch {
	case r.decision == Uncertain:
		return 6
	case r.decision == Denied:
		return 5
	case r.act == actWait, r.decision == InProgress:
		return 4
	case r.decision == AwaitingApproval:
		return 3
	case r.decision == Failed:
		return 2
	case r.decision == Replay, r.alias:
		return 1
	}
	return 0
}

// decideTwin is one row of table 5 for one twin.
func decideTwin(q inquiry, own, twin *Operation, equal equality) ruling {
	begin := ruling{act: actBegin, decision: Execute, op: own}
	explicit := q.provenance.explicit()
	foreign := twin.Actor != q.principal.Actor
	row := ruling{op: twin, twin: true, hidden: !q.principal.reads(twin.Actor)}
	// A key that names nothing yet and is answered with what became of the twin, or told
	// to wait for it, names the twin from then on: the same call once more is its repeat,
	// by when somebody else may have got the twin's answer.
	free := own == nil && !foreign && !explicit && equal == equalFingerprint && q.provenance != ProvenanceNone
	similar := begin
	if equal == equalFingerprint && !row.hidden {
		similar.similarTo = twin.ID
	}

	switch twin.EffectiveState(q.now) {
	case StateUncertain, StateAwaitingInput:
		if q.rule.Effect == EffectIdempotent && !q.beforeBegin(twin) {
			return begin
		}
		toolError := twin.Status == StatusUncertain && twin.Reason == ReasonToolError
		if equal == equalMatter && toolError {
			return begin
		}
		row.decision, row.reason, row.alias = Uncertain, ReasonTwinUnresolved, free
		if q.rule.Effect == EffectIdempotent {
			row.text = "the ledger's clock was set back to before the attempt of an earlier action of the same matter, of which is not known whether it was applied: a repeat of that would not know of what began now, and would undo it; nothing was sent; settle the earlier one, or wait until " + stamp(twin.Current().BegunAt)
		}
		return row
	case StateExecuting:
		row.act, row.decision, row.reason = actWait, InProgress, ReasonTwinExecuting
		row.retryAfter = untilLeaseEnds(twin, q.now)
		row.alias = free
		return row
	case StateAuthorized, StateAwaitingApproval:
		return decidePendingTwin(q, row, similar, equal, foreign || own != nil)
	case StateCommitted:
		return decideCommittedTwin(q, row, similar, equal, foreign, free)
	case StateFailedRetryable, StateFailedFinal:
		if equal == equalFingerprint && !explicit && !foreign && q.concurrent(twin) {
			row.decision, row.reason = Failed, twin.Reason
			return row
		}
	case StateDenied:
		byPerson := twin.Reason == ReasonByPerson && q.now.Before(twin.SettledAt.Add(personsNoHolds))
		if byPerson && equal == equalFingerprint && !explicit {
			row.decision, row.reason = Denied, ReasonTwinDenied
			return row
		}
	}
	return begin
}

// decidePendingTwin: the twin waits for a person or for its caller. A call that
// cannot become an alias of it, because the twin is another actor's or because
// the call's key already names an operation, is held.
func decidePendingTwin(q inquiry, row, similar ruling, equal equality, apart bool) ruling {
	if q.provenance.explicit() {
		return similar
	}
	if equal == equalMatter || apart {
		row.decision, row.reason = Denied, ReasonTwinPending
		return row
	}
	row.alias = true
	if row.op.Status == StatusAuthorized {
		row.act, row.decision = actBegin, Execute
		return row
	}
	row.decision, row.reason = AwaitingApproval, ReasonTwinPending
	return row
}

// decideCommittedTwin: the twin's receipt may be what the caller is after.
func decideCommittedTwin(q inquiry, row, similar ruling, equal equality, foreign, free bool) ruling {
	twin := row.op
	explicit := q.provenance.explicit()
	if explicit || foreign {
		return similar
	}
	if equal == equalFingerprint && q.concurrent(twin) {
		row.decision, row.reason, row.alias = Replay, ReasonTwinJoined, free
		return row
	}
	if !twin.Delivered() && q.now.Before(twin.SettledAt.Add(q.rule.ModelWindow)) {
		row.decision, row.reason, row.alias = Replay, ReasonTwinUndelivered, free
		if equal == equalMatter {
			row.decision = Denied
		}
		return row
	}
	keyless := q.provenance == ProvenanceNone
	if equal == equalFingerprint && keyless && q.rule.TwinsWithin > 0 && q.now.Before(twin.SettledAt.Add(q.rule.TwinsWithin)) {
		row.decision, row.reason = Replay, ReasonTwinRecent
		return row
	}
	return similar
}

// afterConflict holds content that was refused as a change of an operation
// which is unresolved or committed: under a fresh model key it would be the
// change that was refused.
func (q inquiry) afterConflict(begin ruling) ruling {
	if q.provenance.explicit() {
		return begin
	}
	for _, refusal := range q.view.Refused {
		op := refusal.Operation
		if op == nil || !q.now.Before(refusal.At.Add(personsNoHolds)) {
			continue
		}
		if begin.op != nil && begin.op.ID == op.ID {
			continue
		}
		if !op.Unresolved(q.now) && op.Status != StatusCommitted {
			continue
		}
		hidden := !q.principal.reads(op.Actor)
		if q.rule.AfterConflict == AfterConflictWarn {
			if !hidden {
				begin.warning = string(op.ID)
			}
			return begin
		}
		return ruling{decision: Denied, reason: ReasonConflictUnresolved, op: op, twin: true, hidden: hidden}
	}
	return begin
}
