// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "time"

// EffectClass says what running a tool again would do. Policy decides it.
type EffectClass string

const (
	// EffectReadOnly changes nothing and may repeat.
	EffectReadOnly EffectClass = "read_only"
	// EffectIdempotent reaches one end state however often it runs.
	EffectIdempotent EffectClass = "idempotent"
	// EffectNonIdempotent does its work again each time.
	EffectNonIdempotent EffectClass = "non_idempotent"
)

// Operation is the durable record of one intended action. Values read from a
// Store are never changed in place: transitions return a changed copy.
type Operation struct {
	ID     OperationID `json:"operation_id"`
	Tenant Tenant      `json:"tenant"`
	// Actor began the operation, whatever scope its key has.
	Actor Actor `json:"actor"`
	// Key is the identity that the operation was begun under; aliases are
	// kept in the ledger's key index.
	Key    Key         `json:"-"`
	Tool   Tool        `json:"tool"`
	Effect EffectClass `json:"effect"`

	Fingerprint Fingerprint `json:"effect_fingerprint"`
	// FingerprintRules is the hash of the rules that made the fingerprint;
	// a repeat is compared under these and no others.
	FingerprintRules Digest `json:"fingerprint_rules"`
	Matter           Matter `json:"matter,omitempty"`
	// UpstreamIdentity tells where the effect goes. A repeat or probe that
	// would go elsewhere is refused.
	UpstreamIdentity string `json:"upstream_identity"`
	// Definition is the digest of the tool's definition at the proposal.
	Definition Digest `json:"definition,omitempty"`
	// RulesHash covers what decides fingerprint, approval and budget of the
	// tool at the proposal.
	RulesHash      Digest `json:"rules_hash"`
	PolicyRevision string `json:"policy_revision"`

	// Arguments are the frozen bytes that every attempt sends: the snapshot.
	// Trimmed by retention, then nil.
	Arguments     []byte `json:"-"`
	PayloadDigest Digest `json:"payload_digest"`
	// Meta holds searchable facts about the call, such as "conversation".
	Meta map[string]string `json:"meta,omitempty"`

	Status Status `json:"status"`
	// Reason refines the status: why it failed or is uncertain.
	Reason    Reason `json:"reason,omitempty"`
	Retryable bool   `json:"retryable,omitempty"`
	// Message is what the upstream or a person said about a failure, an
	// uncertainty or a denial.
	Message string `json:"message,omitempty"`
	// DecidedBy names the person or strategy behind a failure or denial that
	// no reply proved; empty when the provider itself refused.
	DecidedBy string `json:"decided_by,omitempty"`

	// NoMoreAttempts is set by a cancel that came after begin.
	NoMoreAttempts bool `json:"no_more_attempts,omitempty"`
	// Diverged: two proofs name two different remote objects.
	Diverged bool `json:"diverged,omitempty"`
	// Contradicted: evidence speaks against what a person or webhook said.
	Contradicted bool `json:"contradicted,omitempty"`
	// ApprovalLapsed distinguishes an expired approval, which may be proposed
	// again, from an operation that ran out of time.
	ApprovalLapsed bool `json:"approval_lapsed,omitempty"`

	Attempts []Attempt `json:"attempts,omitempty"`
	Receipts []Receipt `json:"receipts,omitempty"`

	// Result is the stored answer of the upstream, byte for byte; nil when
	// only the receipt is kept.
	Result       []byte `json:"-"`
	ResultDigest Digest `json:"result_digest,omitempty"`
	// ResultIsError is set when the stored answer is an upstream's error
	// result.
	ResultIsError bool `json:"result_is_error,omitempty"`

	// RequestState is the digest of the state (MCP, multi-round-trip requests)
	// of the question that is open, which a continuation must present.
	// AnsweredState is that of the latest question that has been answered, and
	// Inputs the digest of its answers: the same answers again are a repeat,
	// others a conflict.
	RequestState  Digest `json:"request_state,omitempty"`
	Inputs        Digest `json:"inputs,omitempty"`
	AnsweredState Digest `json:"answered_state,omitempty"`

	Supersedes   OperationID `json:"supersedes,omitempty"`
	SupersededBy OperationID `json:"superseded_by,omitempty"`
	// Approval is the consent that the operation carries, if it needed one.
	Approval *Approval `json:"approval,omitempty"`

	CreatedAt    time.Time `json:"created_at"`
	ProposedAt   time.Time `json:"proposed_at"`
	AuthorizedAt time.Time `json:"authorized_at,omitzero"`
	// ExpiresAt is the caller's own deadline for dispatch, zero if none.
	ExpiresAt      time.Time `json:"expires_at,omitzero"`
	LeaseExpiresAt time.Time `json:"lease_expires_at,omitzero"`
	InputExpiresAt time.Time `json:"input_expires_at,omitzero"`
	// RetryAt is the earliest moment of the next attempt of a retryable
	// failure.
	RetryAt   time.Time `json:"retry_at,omitzero"`
	SettledAt time.Time `json:"settled_at,omitzero"`
	// DeliveredAt is when a caller was first handed the receipt.
	DeliveredAt time.Time `json:"delivered_at,omitzero"`
	// DispatchBy is when max_age or the caller's deadline ends the right to
	// begin: the earlier of the two.
	DispatchBy time.Time `json:"dispatch_by,omitzero"`
	// RetainUntil is when results and arguments may be trimmed; meaningful
	// in settled states only.
	RetainUntil time.Time `json:"retain_until,omitzero"`

	// Version rises by one with every event that the transition table
	// records; writes compare and set it.
	Version int64 `json:"version"`
}

// Approval is the wish for a consent to one digest, and the consent.
type Approval struct {
	Digest Digest `json:"digest"`
	// ID names the latest consent that was given elsewhere, if any was.
	ID string `json:"id,omitempty"`
	// ExpiresAt ends the time to decide, and to dispatch what was approved.
	ExpiresAt time.Time `json:"expires_at"`
	// Approvers are those who consented; Votes say more.
	Approvers []string `json:"approvers,omitempty"`
	// SpentAt is when the first dispatch consumed it.
	SpentAt time.Time `json:"spent_at,omitzero"`

	// Revision is the version of what the operation is about, as it was when it
	// was proposed; empty where none is read.
	Revision string `json:"revision,omitempty"`

	AskedAt time.Time `json:"asked_at,omitzero"`
	AskedBy Actor     `json:"asked_by,omitempty"`
	// AskAgain is how many seconds a caller waits before it asks again.
	AskAgain int     `json:"ask_again_seconds,omitempty"`
	Run      RunMode `json:"run,omitempty"`
	// Quorum is how many people must consent, MayApprove who may, empty for
	// everybody with the right; Self permits the operation's own actor. They are
	// those of the rules at the proposal.
	Quorum     int     `json:"quorum,omitempty"`
	MayApprove []Actor `json:"may_approve,omitempty"`
	Self       bool    `json:"self,omitempty"`
	Votes      []Vote  `json:"votes,omitempty"`
}

// Current returns the latest attempt, or nil when none was ever begun.
func (op *Operation) Current() *Attempt {
	if len(op.Attempts) == 0 {
		return nil
	}
	return &op.Attempts[len(op.Attempts)-1]
}

// AttemptNumber returns the number of the latest attempt, 0 when none.
func (op *Operation) AttemptNumber() int {
	return len(op.Attempts)
}

// Receipt returns the first receipt, or nil.
func (op *Operation) Receipt() *Receipt {
	if len(op.Receipts) == 0 {
		return nil
	}
	return &op.Receipts[0]
}

// LapsesAt returns the next moment at which time alone moves the operation,
// zero when nothing does: a lease, a question, an approval or the right to
// begin runs out. Stores index it; recovery writes what it means.
func (op *Operation) LapsesAt() time.Time {
	switch op.State() {
	case StateExecuting:
		return op.LeaseExpiresAt
	case StateAwaitingInput:
		return op.InputExpiresAt
	case StateAwaitingApproval, StateAuthorized:
		if op.Approval != nil && op.Approval.ExpiresAt.Before(op.DispatchBy) {
			return op.Approval.ExpiresAt
		}
		return op.DispatchBy
	case StateFailedRetryable:
		return op.DispatchBy
	}
	return time.Time{}
}

// Delivered reports whether a caller was handed the receipt.
func (op *Operation) Delivered() bool { return !op.DeliveredAt.IsZero() }

// clone copies the operation so that a transition can change it. Byte slices
// are shared: they are immutable.
func (op *Operation) clone() *Operation {
	next := *op
	next.Attempts = append([]Attempt(nil), op.Attempts...)
	next.Receipts = append([]Receipt(nil), op.Receipts...)
	if op.Approval != nil {
		next.Approval = op.Approval.clone()
	}
	return &next
}
