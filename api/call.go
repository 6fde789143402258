// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"time"

	"github.com/deed-run/deed"
)

// CallRequest is the body of POST /v1/tools/{upstream}/{tool}/calls. The key
// travels in the header Idempotency-Key.
type CallRequest struct {
	// Arguments is the JSON object that the tool receives, byte for byte.
	Arguments json.RawMessage `json:"arguments"`
	// Meta are facts about the call: parts of derived keys, terms to search by.
	Meta map[string]string `json:"meta,omitempty"`
	// ExpiresAt is the caller's deadline for dispatch.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// EffectFingerprint, when the caller computed one, is checked.
	EffectFingerprint deed.Fingerprint `json:"effect_fingerprint,omitempty"`
}

// Verdict is what a call or a claim was answered: the same words in an answer
// and in a problem.
type Verdict struct {
	Decision deed.Decision `json:"decision,omitempty"`
	Reason   deed.Reason   `json:"reason,omitempty"`
	// WouldBe is what would have been decided, had the rules not only been
	// observed.
	WouldBe deed.Decision `json:"would_be,omitempty"`
	// RetryAfter is in seconds.
	RetryAfter float64 `json:"retry_after,omitempty"`
	// SimilarTo names an earlier operation with an equal effect.
	SimilarTo deed.OperationID `json:"similar_to,omitempty"`
	// Twin is set when the operation is an equal one under another key.
	Twin deed.OperationID `json:"twin,omitempty"`
	// Warning says that content refused before is running now.
	Warning string `json:"warning,omitempty"`
	// Operation is the record behind the answer, if the caller may see it.
	Operation *Operation `json:"operation,omitempty"`
	// Result is the answer of the tool, fresh or stored, where it is JSON;
	// any other is in ResultBytes, base64.
	Result      json.RawMessage `json:"result,omitempty"`
	ResultBytes []byte          `json:"result_bytes,omitempty"`
}

// CallAnswer is the answer to a call that was made, is replayed, or waits for
// a person. Everything else is a [Problem].
type CallAnswer struct {
	Verdict
}

// Replayed reports whether the answer is recovered evidence: nothing was sent.
func (v Verdict) Replayed() bool { return v.Decision == deed.Replay }
