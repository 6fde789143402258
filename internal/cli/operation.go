// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// shown is an operation as every command prints it: the record, with the names
// that answers use.
type shown struct {
	*deed.Operation
	EffectiveStatus deed.Status      `json:"effective_status"`
	IdempotencyKey  string           `json:"idempotency_key,omitempty"`
	Identity        deed.Family      `json:"identity"`
	Provenance      deed.Provenance  `json:"provenance"`
	Attempt         int              `json:"attempt"`
	Observed        deed.OutcomeKind `json:"observed_outcome,omitempty"`
	Receipt         *deed.Receipt    `json:"receipt,omitempty"`
	Doubt           *doubt           `json:"doubt,omitempty"`
	waiting
	Alike     []alike         `json:"alike,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Next      []step          `json:"next,omitempty"`
	Events    []deed.Event    `json:"events,omitempty"`
}

func show(op *deed.Operation, now time.Time) shown {
	s := shown{
		Operation: op, EffectiveStatus: op.EffectiveStatus(now), IdempotencyKey: keyText(op.Key),
		Identity: op.Key.Family, Provenance: op.Key.Provenance, Attempt: op.AttemptNumber(), Receipt: op.Receipt(),
		Doubt: doubtOf(op, now),
	}
	if current := op.Current(); current != nil {
		s.Observed = current.Outcome
	}
	return s
}

// keyText hides what must not be shown: of a confidential key the ledger knows
// an HMAC only, and even that is nobody's business.
func keyText(key deed.Key) string {
	if key.Family == deed.FamilySecret {
		return ""
	}
	return key.Text
}

// raw passes stored bytes on where they are JSON.
func raw(data []byte) json.RawMessage {
	if !json.Valid(data) {
		return nil
	}
	return data
}

// standing is a status with its reason, for people.
func standing(op *deed.Operation, now time.Time) string {
	status := op.EffectiveStatus(now)
	var parts []string
	switch {
	case status != op.Status:
		parts = append(parts, "lease lost")
	case op.Reason == deed.ReasonResolved && status != deed.StatusCommitted:
		parts = append(parts, "decided by a person")
	case op.Reason != "" && string(op.Reason) != string(status):
		parts = append(parts, string(op.Reason))
	}
	if status == deed.StatusFailed && op.Retryable {
		parts = append(parts, "may be retried")
	}
	if op.Diverged {
		parts = append(parts, "more than once")
	}
	if op.Contradicted {
		parts = append(parts, "contradicted")
	}
	if len(parts) == 0 {
		return string(status)
	}
	return string(status) + " (" + strings.Join(parts, ", ") + ")"
}
