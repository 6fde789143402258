// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "time"

// inquiry is everything that a decision depends on. Decisions read nothing
// else: no clock, no store, no configuration.
type inquiry struct {
	now       time.Time
	arrived   time.Time
	principal Principal
	rule      Rule
	facts     ToolFacts
	// provenance is that of the key that identifies the call.
	provenance Provenance
	// fingerprints holds the call's fingerprint under each set of rules that
	// matters here: the current ones and those of the records met.
	fingerprints map[Digest]Fingerprint
	// current is the hash of the current fingerprint rules.
	current Digest
	// claimed is the fingerprint that the caller computed, if it did.
	claimed Fingerprint
	matter  Matter
	// continues: the call answers a question; state and inputs are the digests
	// of what it presents.
	continues bool
	state     Digest
	inputs    Digest
	// joined holds the operations whose live attempt this call waited for.
	joined map[OperationID]bool
	// needsApproval: the rule's condition wants a person's consent to this call.
	needsApproval bool
	// checked: the condition has been looked at.
	checked bool
	// consents: a consent came with the call and is still to be judged.
	consents bool
	// watched is for how long this process has known of the first attempt that
	// carried the operation's provider key, by its own clock.
	watched time.Duration
	// ranBeside says which calls were sent in observe mode beside the operation
	// that the key names.
	ranBeside ranBeside
	// claimToken names the claim, if the caller leads its own lease.
	claimToken string
	// patient: the call may still wait for a live attempt.
	patient bool
	view    View
}

// fingerprintFor returns the call's fingerprint under the rules that a record
// was made with; false when those rules are gone.
func (q inquiry) fingerprintFor(op *Operation) (Fingerprint, bool) {
	f, ok := q.fingerprints[op.FingerprintRules]
	return f, ok
}

// act says what a ruling wants done.
type act int

const (
	// actAnswer: nothing begins; the decision is the answer.
	actAnswer act = iota
	// actBegin: a new attempt, of the ruling's operation or of a new one.
	actBegin
	// actWait: wait for the ruling's operation to settle and ask again; when
	// patience is over the decision is the answer.
	actWait
	// actPropose: store a proposal that waits for a person.
	actPropose
	// actConsent: judge the consent that came with the call, and ask again.
	actConsent
	// actAgain: the keys have become names of an existing operation; ask
	// again, about that.
	actAgain
	// actRegrant: the ruling's operation is executing under this very claim.
	actRegrant
	// actFollow: the ruling's operation names a successor; ask about that.
	actFollow
)

// ruling is a decision with what it rests on.
type ruling struct {
	act      act
	decision Decision
	reason   Reason
	// op is the operation answered or begun; nil means a new one.
	op *Operation
	// twin: op is an equal operation under another key.
	twin bool
	// hidden: the caller may not learn which operation it is.
	hidden bool
	// alias: the call's keys become other names of op.
	alias bool
	// supersedes is the generation that a new one follows.
	supersedes *Operation
	retryAfter time.Duration
	similarTo  OperationID
	warning    string
	text       string
	// budget says why the call does not fit.
	budget *BudgetRefusal
	// wouldBe is what enforce would have decided in the place of a begin that is
	// only observed; reason and text are those of that.
	wouldBe Decision
}

func answered(decision Decision, reason Reason, op *Operation) ruling {
	return ruling{act: actAnswer, decision: decision, reason: reason, op: op}
}

// mayBegin reports whether an attempt may follow from the ruling, so that what has
// run beside the operation has to be known.
func (r ruling) mayBegin() bool {
	return r.act == actBegin || r.act == actPropose || r.act == actConsent
}

// maxRetryAfter bounds the time that in_progress answers name.
const maxRetryAfter = 25 * time.Second

func untilLeaseEnds(op *Operation, now time.Time) time.Duration {
	left := op.LeaseExpiresAt.Sub(now)
	return max(0, min(left, maxRetryAfter))
}
