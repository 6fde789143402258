// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"encoding/json"
	"time"
)

// Receipt is the immutable proof that an operation was committed. JSON names
// are fixed.
type Receipt struct {
	IdempotencyKey    string      `json:"idempotency_key,omitempty"`
	EffectFingerprint Fingerprint `json:"effect_fingerprint"`
	Status            Status      `json:"status"`
	RemoteSystem      string      `json:"remote_system,omitempty"`
	RemoteID          string      `json:"remote_id,omitempty"`
	RemoteURL         string      `json:"remote_url,omitempty"`
	CommittedAt       time.Time   `json:"committed_at"`
	OperationID       OperationID `json:"operation_id"`
	Attempt           int         `json:"attempt"`
	// Established says in words what is known, such as "accepted by the
	// provider"; never more than that.
	Established string `json:"established"`
	// EstablishedBy is "reply", "webhook", "reconcile:<strategy>" or
	// "operator:<name>".
	EstablishedBy string `json:"established_by"`
	// Items holds per-item outcomes of a batch.
	Items []Item `json:"items,omitempty"`
	// ResultDigest names the stored result.
	ResultDigest Digest `json:"result_digest,omitempty"`
	// Result is how a function passed to [Runtime.Do] hands its answer over;
	// the ledger keeps it beside the receipt, not in it.
	Result json.RawMessage `json:"result,omitempty"`
}

// Item is the outcome of one member of a batch.
type Item struct {
	ID       string          `json:"id,omitempty"`
	Outcome  OutcomeKind     `json:"outcome"`
	RemoteID string          `json:"remote_id,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Detail   json.RawMessage `json:"detail,omitempty"`
}

// The words of Receipt.Established and prefixes of Receipt.EstablishedBy.
const (
	EstablishedAccepted = "accepted by the provider"
	EstablishedFound    = "found at the provider"
	EstablishedStated   = "stated by a person"

	ByReply     = "reply"
	ByReconcile = "reconcile:"
	ByOperator  = "operator:"
	ByWebhook   = "webhook"
)
