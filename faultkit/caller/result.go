// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package caller

import (
	"encoding/json"
	"fmt"
)

// Operation is what a gateway says about a call in _meta["deed/operation"].
type Operation struct {
	ID          string `json:"id"`
	Key         string `json:"key"`
	Provenance  string `json:"provenance"`
	Status      string `json:"status"`
	Decision    string `json:"decision"`
	Reason      string `json:"reason"`
	Replayed    bool   `json:"replayed"`
	Attempt     int    `json:"attempt"`
	Fingerprint string `json:"fingerprint"`
	// Receipt, SimilarTo and Twin are kept as they came.
	Receipt    json.RawMessage `json:"receipt,omitempty"`
	RetryAfter float64         `json:"retry_after"`
	SimilarTo  json.RawMessage `json:"similar_to,omitempty"`
	Twin       json.RawMessage `json:"twin,omitempty"`
}

// RemoteID is the provider's id in the receipt, or "".
func (o Operation) RemoteID() string {
	var receipt struct {
		RemoteID string `json:"remote_id"`
	}
	_ = json.Unmarshal(o.Receipt, &receipt)
	return receipt.RemoteID
}

// Result is the result of a tools/call.
type Result struct {
	// Raw is the whole result as it came.
	Raw          json.RawMessage
	IsError      bool
	Texts        []string
	Structured   json.RawMessage
	ResultType   string
	RequestState string
	// Operation is nil when nothing on the way keeps operations.
	Operation *Operation
}

func parseResult(raw json.RawMessage) (Result, error) {
	var wire struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Structured   json.RawMessage `json:"structuredContent"`
		ResultType   string          `json:"resultType"`
		RequestState string          `json:"requestState"`
		Meta         struct {
			Operation *Operation `json:"deed/operation"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return Result{}, fmt.Errorf("read tools/call result: %w", err)
	}
	r := Result{
		Raw: raw, IsError: wire.IsError, Structured: wire.Structured, ResultType: wire.ResultType,
		RequestState: wire.RequestState, Operation: wire.Meta.Operation,
	}
	for _, block := range wire.Content {
		r.Texts = append(r.Texts, block.Text)
	}
	return r, nil
}
