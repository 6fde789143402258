// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package api

import (
	"github.com/deed-run/deed"
)

// Problem is an answer of RFC 9457: its Status is the HTTP code. Decision,
// reason and the operation's status are extension members.
type Problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty"`
	Instance string `json:"instance,omitempty"`

	Verdict
	// OperationID and OperationStatus tell which operation is meant and where it
	// stands.
	OperationID     deed.OperationID `json:"operation_id,omitempty"`
	OperationStatus deed.Status      `json:"operation_status,omitempty"`
	// The fingerprints of a conflict, and what the other effect made.
	ExistingFingerprint deed.Fingerprint `json:"existing_fingerprint,omitempty"`
	ReceivedFingerprint deed.Fingerprint `json:"received_fingerprint,omitempty"`
	ExistingRemoteID    string           `json:"existing_remote_id,omitempty"`
}

// ProblemPage documents the problem types, which are its fragments.
const ProblemPage = "https://github.com/deed-run/deed/blob/main/docs/problems.md"

// The problem types that no decision has, as fragments of ProblemPage; a
// decision's is its word with hyphens.
const (
	TypeUncertain        = "outcome-uncertain"
	TypeNotFound         = "not-found"
	TypeMethodNotAllowed = "method-not-allowed"
	TypeUnauthenticated  = "unauthenticated"
	TypeForbidden        = "forbidden"
	TypeCrossOrigin      = "cross-origin"
	TypeMalformed        = "malformed-request"
	TypeTooLarge         = "body-too-large"
	TypeMediaType        = "unsupported-media-type"
	TypeRefused          = "transition-refused"
	TypeVersion          = "version-changed"
	TypeStaleAttempt     = "stale-attempt"
	TypeOutcomeDiffers   = "outcome-differs"
	TypeLeaseLost        = "lease-lost"
	TypeUnavailable      = "ledger-unavailable"
	TypeNoAnswer         = "no-answer"
	TypeNotSent          = "not-sent"
	TypeDamaged          = "record-damaged"
	TypeInternal         = "internal-error"
)
