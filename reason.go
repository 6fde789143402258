// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

// Decision is what a call was answered: whether it was admitted, not how it
// ended.
type Decision string

// The decisions.
const (
	// Execute: a new attempt was made; the status tells its outcome.
	Execute Decision = "execute"
	// Replay: the stored receipt, recovered evidence; nothing was sent.
	Replay Decision = "replay"
	// Conflict: the identity was reused with another effect.
	Conflict Decision = "conflict"
	// InProgress: an attempt of this or an equal operation is live.
	InProgress Decision = "in_progress"
	// AwaitingApproval: the proposal is stored and waits for a person.
	AwaitingApproval Decision = "awaiting_approval"
	// Uncertain: it may have happened; nothing was sent.
	Uncertain Decision = "uncertain"
	// Failed: a stored refusal; nothing was sent.
	Failed Decision = "failed"
	// Denied: policy, approval, budget, key, loop or store said no.
	Denied Decision = "denied"
	// Expired: it never ran and may not run under this proposal.
	Expired Decision = "expired"
)

// Reason is one of a closed list of stable words that refine a decision or a
// status. The same value appears in answers, logs, metrics, spans, the
// console and tests.
type Reason string

// The reasons, grouped by the decision that uses them.
const (
	ReasonStored          Reason = "stored"
	ReasonResultDiscarded Reason = "result_discarded"
	ReasonJoined          Reason = "joined"
	ReasonTwinJoined      Reason = "twin_joined"
	ReasonTwinUndelivered Reason = "twin_undelivered" // also of denied
	ReasonTwinRecent      Reason = "twin_recent"

	ReasonKeyReused            Reason = "idempotency_key_reused_with_different_effect"
	ReasonKeyReusedAfterWindow Reason = "key_reused_after_window"
	ReasonInputDiffers         Reason = "input_differs"

	ReasonLeaseLive     Reason = "lease_live"
	ReasonTwinExecuting Reason = "twin_executing"
	ReasonAwaitingInput Reason = "awaiting_input"

	ReasonPending     Reason = "pending"
	ReasonTwinPending Reason = "twin_pending" // also of denied

	ReasonOutcomeUnknown Reason = "outcome_unknown"
	ReasonToolError      Reason = "tool_error"
	ReasonFoundMany      Reason = "found_many"
	ReasonAbandoned      Reason = "abandoned"
	ReasonTwinUnresolved Reason = "twin_unresolved"

	ReasonNotSent    Reason = "not_sent"
	ReasonRefused    Reason = "refused"
	ReasonAbsent     Reason = "absent"
	ReasonResolved   Reason = "resolved"
	ReasonRetryLater Reason = "retry_later"
	ReasonTooOld     Reason = "too_old"

	ReasonNeverRan Reason = "never_ran"

	ReasonMissingOperationKey     Reason = "missing_operation_key"
	ReasonBadKey                  Reason = "bad_key"
	ReasonKeyCarriersDisagree     Reason = "key_carriers_disagree"
	ReasonBadArguments            Reason = "bad_arguments"
	ReasonFingerprintMismatch     Reason = "fingerprint_mismatch"
	ReasonUnauthenticated         Reason = "unauthenticated"
	ReasonBudgetExceeded          Reason = "budget_exceeded"
	ReasonForbidden               Reason = "forbidden"
	ReasonNotYours                Reason = "not_yours"
	ReasonByPerson                Reason = "by_person"
	ReasonCancelled               Reason = "cancelled"
	ReasonSuperseded              Reason = "superseded"
	ReasonPolicyChanged           Reason = "policy_changed"
	ReasonQuarantined             Reason = "quarantined"
	ReasonRevisionChanged         Reason = "revision_changed"
	ReasonUpstreamChanged         Reason = "upstream_changed"
	ReasonFingerprintUnverifiable Reason = "fingerprint_unverifiable"
	ReasonConflictUnresolved      Reason = "conflict_unresolved"
	ReasonTwinDenied              Reason = "twin_denied"
	ReasonApprovalInvalid         Reason = "approval_invalid"
	// ReasonFenced is reserved: a fence holds calls for a person instead.
	ReasonFenced           Reason = "fenced"
	ReasonLoop             Reason = "loop"
	ReasonRate             Reason = "rate"
	ReasonStoreUnavailable Reason = "store_unavailable"
	ReasonPolicyOutdated   Reason = "policy_outdated"
)

// Record says what a decision leaves in the ledger.
type Record string

// What decisions leave behind.
const (
	RecordOperation Record = "operation"
	RecordEvent     Record = "decision event"
	RecordNone      Record = "none"
)

// ReasonRow is one row of the closed list of reasons: which decision uses
// them, the HTTP status they are answered with, and what they leave behind.
type ReasonRow struct {
	Decision Decision
	Reasons  []Reason
	// HTTP is 0 where the stored or the upstream's own status is answered.
	HTTP int
	// RetryAfter is set when the answer names a time to come back.
	RetryAfter bool
	Record     Record
}

// ReasonTable is the closed list of decisions and reasons in the order of
// docs/tables.md section 6.
func ReasonTable() []ReasonRow {
	return []ReasonRow{
		{Execute, nil, 0, false, RecordOperation},
		{Replay, []Reason{ReasonStored, ReasonResultDiscarded, ReasonJoined, ReasonTwinJoined, ReasonTwinUndelivered, ReasonTwinRecent}, 0, false, RecordEvent},
		{Conflict, []Reason{ReasonKeyReused, ReasonKeyReusedAfterWindow, ReasonInputDiffers}, 422, false, RecordEvent},
		{InProgress, []Reason{ReasonLeaseLive, ReasonTwinExecuting, ReasonAwaitingInput}, 409, true, RecordEvent},
		{AwaitingApproval, []Reason{ReasonPending, ReasonTwinPending}, 202, false, RecordOperation},
		{Uncertain, []Reason{ReasonOutcomeUnknown, ReasonToolError, ReasonFoundMany, ReasonAbandoned, ReasonTwinUnresolved}, 409, false, RecordEvent},
		{Failed, []Reason{ReasonNotSent, ReasonRefused, ReasonAbsent, ReasonResolved, ReasonRetryLater, ReasonTooOld}, 422, false, RecordEvent},
		{Expired, []Reason{ReasonNeverRan}, 410, false, RecordEvent},
		{Denied, []Reason{ReasonMissingOperationKey, ReasonBadKey, ReasonKeyCarriersDisagree, ReasonBadArguments, ReasonFingerprintMismatch}, 400, false, RecordEvent},
		{Denied, []Reason{ReasonUnauthenticated}, 401, false, RecordNone},
		{Denied, []Reason{ReasonBudgetExceeded}, 402, false, RecordEvent},
		{Denied, []Reason{ReasonForbidden, ReasonNotYours, ReasonByPerson, ReasonCancelled, ReasonPolicyChanged, ReasonQuarantined, ReasonRevisionChanged, ReasonUpstreamChanged, ReasonFingerprintUnverifiable, ReasonConflictUnresolved, ReasonTwinDenied, ReasonTwinPending, ReasonTwinUndelivered, ReasonApprovalInvalid, ReasonFenced}, 403, false, RecordEvent},
		{Denied, []Reason{ReasonLoop, ReasonRate}, 429, true, RecordEvent},
		{Denied, []Reason{ReasonStoreUnavailable, ReasonPolicyOutdated}, 503, false, RecordEvent},
	}
}

// HTTPStatus returns the status code that the decision is answered with, or 0
// where the stored or the upstream's own code applies.
func HTTPStatus(decision Decision, reason Reason) int {
	for _, row := range ReasonTable() {
		if row.Decision != decision {
			continue
		}
		if row.HTTP == 0 || len(row.Reasons) == 0 {
			return row.HTTP
		}
		for _, r := range row.Reasons {
			if r == reason {
				return row.HTTP
			}
		}
	}
	return 0
}
