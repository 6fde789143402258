// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"time"

	"github.com/deed-run/deed"
)

// Operation is the record of one intended action, as its caller may see it.
type Operation struct {
	OperationID deed.OperationID `json:"operation_id"`
	Tenant      deed.Tenant      `json:"tenant"`
	Actor       deed.Actor       `json:"actor"`
	// Key is left out where it is confidential or nobody gave one.
	Key               string           `json:"idempotency_key,omitempty"`
	Family            deed.Family      `json:"family"`
	Provenance        deed.Provenance  `json:"provenance"`
	Tool              deed.Tool        `json:"tool"`
	Effect            deed.EffectClass `json:"effect"`
	EffectFingerprint deed.Fingerprint `json:"effect_fingerprint"`
	Matter            json.RawMessage  `json:"matter,omitempty"`
	// UpstreamIdentity is where it goes, for those with the right to read,
	// approve or resolve.
	UpstreamIdentity string            `json:"upstream_identity,omitempty"`
	PolicyRevision   string            `json:"policy_revision,omitempty"`
	PayloadDigest    deed.Digest       `json:"payload_digest"`
	Meta             map[string]string `json:"meta,omitempty"`
	// Arguments is the frozen snapshot. Listings leave it out.
	Arguments json.RawMessage `json:"arguments,omitempty"`

	// Status is the effective one: an attempt whose lease has run out is
	// uncertain, before anyone has written it.
	Status    deed.Status `json:"status"`
	Reason    deed.Reason `json:"reason,omitempty"`
	Retryable bool        `json:"retryable,omitempty"`
	// Message is what was said of a failure, a doubt or a decision. Addresses
	// behind the gateway are left out of it for callers that only call.
	Message        string `json:"message,omitempty"`
	DecidedBy      string `json:"decided_by,omitempty"`
	NoMoreAttempts bool   `json:"no_more_attempts,omitempty"`
	// Diverged: two proofs name two different remote objects.
	Diverged bool `json:"diverged,omitempty"`
	// Contradicted: evidence speaks against what a person said.
	Contradicted bool `json:"contradicted,omitempty"`

	// Attempt is the number of the latest attempt, 0 when none was begun.
	Attempt  int            `json:"attempt"`
	Attempts []Attempt      `json:"attempts,omitempty"`
	Receipt  *deed.Receipt  `json:"receipt,omitempty"`
	Receipts []deed.Receipt `json:"receipts,omitempty"`

	ResultDigest  deed.Digest      `json:"result_digest,omitempty"`
	ResultIsError bool             `json:"result_is_error,omitempty"`
	Supersedes    deed.OperationID `json:"supersedes,omitempty"`
	SupersededBy  deed.OperationID `json:"superseded_by,omitempty"`
	Approval      *Approval        `json:"approval,omitempty"`
	// Fence stands over what waits for a person and over what is authorized; nil
	// where none stands.
	Fence *Fence `json:"fence,omitempty"`

	CreatedAt      time.Time `json:"created_at"`
	AuthorizedAt   time.Time `json:"authorized_at,omitzero"`
	ExpiresAt      time.Time `json:"expires_at,omitzero"`
	DispatchBy     time.Time `json:"dispatch_by,omitzero"`
	LeaseExpiresAt time.Time `json:"lease_expires_at,omitzero"`
	InputExpiresAt time.Time `json:"input_expires_at,omitzero"`
	RetryAt        time.Time `json:"retry_at,omitzero"`
	SettledAt      time.Time `json:"settled_at,omitzero"`
	DeliveredAt    time.Time `json:"delivered_at,omitzero"`
	Version        int64     `json:"version"`

	// Short is in the answer to an approval when the budget has no room for what
	// was approved as it stands; nil otherwise. The approval holds: it is sent once
	// there is room, until DispatchBy.
	Short *Shortage `json:"short,omitempty"`
}

// Fence says that the ledger has lost what was written to it from Since to SetAt:
// what is asked for now may have been done then. Whoever consents looks at the
// provider first.
type Fence struct {
	Since time.Time `json:"since"`
	SetAt time.Time `json:"set_at"`
}

// Shortage is what an operation lacks in its budget, as exact decimals.
type Shortage struct {
	Budget string `json:"budget"`
	// Share is empty for the tenant's one, else the scope and its value.
	Share    string `json:"share,omitempty"`
	Currency string `json:"currency,omitempty"`
	Amount   string `json:"amount"`
	// Left may be given out, Held is what unconfirmed operations hold of it.
	Left string `json:"left"`
	Held string `json:"held"`
}

// Attempt is one dispatch of an operation.
type Attempt struct {
	Attempt int       `json:"attempt"`
	Worker  string    `json:"worker,omitempty"`
	BegunAt time.Time `json:"begun_at"`
	SendBy  time.Time `json:"send_by"`
	// Cleared: known not to have been applied. Proved: known to have been.
	Cleared bool             `json:"cleared,omitempty"`
	Proved  bool             `json:"proved,omitempty"`
	Outcome deed.OutcomeKind `json:"observed_outcome,omitempty"`
	EndedAt time.Time        `json:"ended_at,omitzero"`
	// Bookings are what the attempt takes from budgets, Probing how far look-ups
	// of it have come, nil before the first.
	Bookings []Booking `json:"bookings,omitempty"`
	Probing  *Probing  `json:"probing,omitempty"`
}

// Booking is money that an attempt has set aside or spent, as exact decimals.
type Booking struct {
	Budget string `json:"budget"`
	// Share is empty for the tenant's one, else the scope and its value.
	Share    string `json:"share,omitempty"`
	Currency string `json:"currency,omitempty"`
	// Amount is what counts now; Reserved is what was set aside at first where
	// the provider said another sum.
	Amount   string            `json:"amount"`
	Reserved string            `json:"reserved,omitempty"`
	State    deed.BookingState `json:"state"`
}

// Probing is how far the look-ups of an attempt have come.
type Probing struct {
	Tries  int       `json:"tries"`
	LastAt time.Time `json:"last_at,omitzero"`
	// Last is the verdict of the latest look-up, found by Strategy.
	Last     deed.VerdictKind `json:"last,omitempty"`
	Strategy string           `json:"strategy,omitempty"`
	// NextAt is when a worker looks again, zero where none does; GaveUpAt is set
	// when only a person looks any more.
	NextAt   time.Time `json:"next_at,omitzero"`
	GaveUpAt time.Time `json:"gave_up_at,omitzero"`
}

// Approval is the consent to one digest, which is not the payload's.
type Approval struct {
	Digest    deed.Digest `json:"digest"`
	ID        string      `json:"id,omitempty"`
	ExpiresAt time.Time   `json:"expires_at"`
	// Approvers are those who consented; Quorum is how many must, and MayApprove
	// who may, empty for everybody with the right.
	Approvers  []string     `json:"approvers,omitempty"`
	Quorum     int          `json:"quorum,omitempty"`
	MayApprove []deed.Actor `json:"may_approve,omitempty"`
	Votes      []deed.Vote  `json:"votes,omitempty"`
	// Run is on_approval where a gateway runs it, on_call where the caller's next
	// call does.
	Run     deed.RunMode `json:"run,omitempty"`
	AskedBy deed.Actor   `json:"asked_by,omitempty"`
	AskedAt time.Time    `json:"asked_at,omitzero"`
	// AskAgain is how many seconds a caller waits before it asks again.
	AskAgain int `json:"ask_again_seconds,omitempty"`
	// SpentAt is when the first dispatch consumed it.
	SpentAt time.Time `json:"spent_at,omitzero"`
}

// Operations is one page of a listing, newest first.
type Operations struct {
	Operations []Operation `json:"operations"`
	// Next is the value of "before" for the next page, empty on the last one.
	Next string `json:"next,omitempty"`
}

// Event is one line of an operation's history.
type Event struct {
	ID          deed.EventID     `json:"id"`
	OperationID deed.OperationID `json:"operation_id,omitempty"`
	Version     int64            `json:"version"`
	At          time.Time        `json:"at"`
	Name        deed.EventName   `json:"name"`
	Actor       deed.Actor       `json:"actor"`
	Attempt     int              `json:"attempt,omitempty"`
	From        deed.Status      `json:"from,omitempty"`
	To          deed.Status      `json:"to,omitempty"`
	Reason      deed.Reason      `json:"reason,omitempty"`
	Tool        deed.Tool        `json:"tool,omitempty"`
	Fingerprint deed.Fingerprint `json:"effect_fingerprint,omitempty"`
	Data        json.RawMessage  `json:"data,omitempty"`
}

// Events is the history of one operation, oldest first.
type Events struct {
	Events []Event `json:"events"`
}

// ResolveRequest is a person's decision about an operation whose outcome is
// not known.
type ResolveRequest struct {
	Outcome   deed.ResolutionOutcome `json:"outcome"`
	RemoteIDs []string               `json:"remote_ids,omitempty"`
	Reason    string                 `json:"reason"`
	// Version, when sent, is the version that was looked at.
	Version int64 `json:"version,omitempty"`
	// Force decides although the process that sent it may still be at work, or
	// names another object beside one that is known: that it happened once more.
	// With not_applied it authorises a second effect.
	Force bool `json:"force,omitempty"`
	// NewProviderKey gives the next attempt another key of the provider's, with
	// not_applied.
	NewProviderKey bool `json:"new_provider_key,omitempty"`
}

// ApproveRequest consents to a proposal. With Arguments it replaces the proposal
// by one with these arguments and consents to that.
type ApproveRequest struct {
	// Digest is the proposal's that was looked at.
	Digest    deed.Digest     `json:"digest"`
	Reason    string          `json:"reason,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// DenyRequest refuses a proposal. The reason is told to whoever asked.
type DenyRequest struct {
	// Digest is the proposal's that was looked at.
	Digest deed.Digest `json:"digest"`
	Reason string      `json:"reason,omitempty"`
}

// Finding is what a look-up came to.
type Finding struct {
	// Operation is as it stands after the look-up.
	Operation Operation `json:"operation"`
	// Verdict is found, absent, many or undetermined; Counted what it amounted
	// to, and Why says why that is less than was claimed.
	Verdict   string   `json:"verdict"`
	Counted   string   `json:"counted"`
	Why       string   `json:"why,omitempty"`
	Strategy  string   `json:"strategy,omitempty"`
	RemoteIDs []string `json:"remote_ids,omitempty"`
	Evidence  string   `json:"evidence,omitempty"`
	// Stale: the operation had moved on, so that nothing was changed.
	Stale bool `json:"stale,omitempty"`
}

// Budget is one share of a budget as it stands. Amounts are exact decimals.
type Budget struct {
	Name string `json:"name"`
	// Share is empty for the tenant's one, else the scope and its value.
	Share    string `json:"share,omitempty"`
	Currency string `json:"currency"`
	Limit    string `json:"limit"`
	// Held is reserved by operations that have not settled.
	Held  string `json:"held"`
	Spent string `json:"spent"`
	// Left may be negative: what a provider charged is never refused.
	Left string `json:"left"`
	// Window is a duration, or day, week or month.
	Window string `json:"window,omitempty"`
}

// Budgets is how all budgets stand.
type Budgets struct {
	Budgets []Budget `json:"budgets"`
}

// ReasonRequest is the body of cancel, reopen, reconcile and run.
type ReasonRequest struct {
	Reason string `json:"reason,omitempty"`
}

// Stats counts the operations that the caller may see.
type Stats struct {
	// Statuses counts by effective status; those with none are left out.
	Statuses map[deed.Status]int `json:"statuses"`
	// AtLeast lists the statuses of which there are more than were counted.
	AtLeast []deed.Status `json:"at_least,omitempty"`
	// OldestUncertain is the longest unresolved one, abandoned ones aside.
	OldestUncertain *Oldest `json:"oldest_uncertain,omitempty"`
}

// Oldest names an operation and since when it has been as it is.
type Oldest struct {
	OperationID deed.OperationID `json:"operation_id"`
	Since       time.Time        `json:"since"`
}
