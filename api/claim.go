// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"time"

	"github.com/deed-run/deed"
)

// ClaimRequest is the body of POST /v1/claims: it asks for the permission to
// carry out an effect oneself.
type ClaimRequest struct {
	// Key names the operation. Alternatively Derive lists the parts that the
	// gateway derives the key from: "tenant", "actor", "tool", "meta.<name>", or
	// JSON pointers into the arguments. With neither, the tool's own rule names
	// it.
	Key    string   `json:"key,omitempty"`
	Derive []string `json:"derive,omitempty"`
	// Family of the key, by default the tool's.
	Family deed.Family `json:"family,omitempty"`
	// Tool is "system/name".
	Tool      deed.Tool         `json:"tool"`
	Arguments json.RawMessage   `json:"arguments"`
	Meta      map[string]string `json:"meta,omitempty"`
	// ExpiresAt is the caller's deadline for dispatch.
	ExpiresAt         time.Time        `json:"expires_at,omitzero"`
	EffectFingerprint deed.Fingerprint `json:"effect_fingerprint,omitempty"`
	// ClaimToken names this claim: repeating it under the same token, because
	// its answer was lost, yields the same grant while its lease lives. Make it
	// anew, at random, for every run of a worker, and keep it in memory only: one
	// that is stored with the job is that of the next worker too, and both are
	// granted.
	ClaimToken string `json:"claim_token,omitempty"`
}

// ClaimAnswer is a grant, when Decision is execute: send exactly Arguments,
// once, before SendBy, and then settle. With any other decision nothing may be
// sent.
type ClaimAnswer struct {
	Verdict
	// OperationID is empty where nothing is recorded: a read-only tool, or a
	// rule that only observes. Such a grant need not be settled.
	OperationID deed.OperationID `json:"operation_id,omitempty"`
	// Regranted: the attempt was granted before, under the same claim token. Unless
	// you know that nothing of it was sent, settle it as unknown.
	Regranted bool `json:"regranted,omitempty"`
	// Attempt is the fencing token.
	Attempt        int       `json:"attempt,omitempty"`
	SendBy         time.Time `json:"send_by,omitzero"`
	LeaseExpiresAt time.Time `json:"lease_expires_at,omitzero"`
	// ProviderKey is to be sent to a provider that honours one.
	ProviderKey string `json:"provider_key,omitempty"`
	// Marker is to be planted in the effect, so that it can be found again.
	Marker string `json:"marker,omitempty"`
	// Arguments is the frozen snapshot, whatever was asked this time.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// SettleOutcome is how an attempt ended, as far as its caller saw.
type SettleOutcome string

// The outcomes. What is not proved is unknown: a time-out, a cut connection, a
// 500.
const (
	SettleCommitted SettleOutcome = "committed"
	// SettleNotSent: proved that nothing of it left.
	SettleNotSent SettleOutcome = "not_sent"
	// SettleRefused: the provider's definite no.
	SettleRefused SettleOutcome = "refused"
	SettleUnknown SettleOutcome = "unknown"
)

// SettleOutcomes lists them all.
func SettleOutcomes() []SettleOutcome {
	return []SettleOutcome{SettleCommitted, SettleNotSent, SettleRefused, SettleUnknown}
}

// SettleRequest is the body of POST /v1/claims/{operation_id}/settle. It may
// be repeated. Another outcome of the same attempt is answered with 409 and
// kept as evidence; a proof of commit wins all the same.
type SettleRequest struct {
	Attempt int `json:"attempt"`
	// ClaimToken, when sent, must be that of the claim.
	ClaimToken string        `json:"claim_token,omitempty"`
	Outcome    SettleOutcome `json:"outcome"`
	// Final says of a refusal that it will be the same next time.
	Final bool `json:"final,omitempty"`
	// RetryAfter is when a refused or unsent attempt may be repeated, in
	// seconds.
	RetryAfter float64 `json:"retry_after,omitempty"`
	// Message is the provider's own text, for people.
	Message string `json:"message,omitempty"`
	// Receipt names what was made.
	Receipt *StatedReceipt `json:"receipt,omitempty"`
	// Result is kept and replayed to every repeat.
	Result json.RawMessage `json:"result,omitempty"`
}

// StatedReceipt is what the caller of a claim says about its effect. The
// gateway makes the receipt of it.
type StatedReceipt struct {
	RemoteSystem string `json:"remote_system,omitempty"`
	RemoteID     string `json:"remote_id,omitempty"`
	RemoteURL    string `json:"remote_url,omitempty"`
	// Items holds per-item outcomes of a batch.
	Items []deed.Item `json:"items,omitempty"`
}

// RenewRequest is the body of POST /v1/claims/{operation_id}/renew. A lost
// lease is never taken back.
type RenewRequest struct {
	Attempt    int    `json:"attempt"`
	ClaimToken string `json:"claim_token,omitempty"`
}

// Lease is the answer to a renewal. SendBy does not move.
type Lease struct {
	OperationID    deed.OperationID `json:"operation_id"`
	Attempt        int              `json:"attempt"`
	SendBy         time.Time        `json:"send_by"`
	LeaseExpiresAt time.Time        `json:"lease_expires_at"`
}
