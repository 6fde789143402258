// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"encoding/json"
	"time"
)

// proposalDigest is what a person approves: identity, every byte to be sent,
// where it goes, the tool's definition, the rules, who asked, and until when.
func proposalDigest(op *Operation, c cause, facts ToolFacts) Digest {
	doc, err := json.Marshal(struct {
		Tenant     Tenant    `json:"tenant"`
		Actor      Actor     `json:"actor"`
		Family     Family    `json:"family"`
		Key        string    `json:"key"`
		Tool       Tool      `json:"tool"`
		Payload    Digest    `json:"payload_digest"`
		Definition Digest    `json:"definition"`
		Upstream   string    `json:"upstream_identity"`
		Rules      Digest    `json:"rules_hash"`
		ExpiresAt  time.Time `json:"expires_at"`
		Revision   string    `json:"revision,omitempty"`
	}{
		op.Tenant, op.Actor, op.Key.Family, op.Key.Text, op.Tool, op.PayloadDigest,
		c.definition, facts.UpstreamIdentity, c.rulesHash, c.approval.ExpiresAt, c.approval.Revision,
	})
	if err != nil {
		panic("deed: a proposal of plain strings does not marshal: " + err.Error())
	}
	return digestOf(doc)
}
