// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// metaApproval carries a consent that was given elsewhere: a signed text over the digest of a proposal. It comes from the program that sends
// calls and never from an argument, so that no model can give it, and it does not go upstream.
const metaApproval = "deed/approval"

// consent verifies the consent that came with a call. problem says why one that came does not count.
func (g *Gate) consent(ctx context.Context, meta json.RawMessage) (given *deed.ExternalConsent, problem string) {
	signed, ok := rawjson.Text(meta, metaApproval)
	switch {
	case !ok:
		return nil, ""
	case g.verifyConsent == nil:
		return nil, "approvals given elsewhere are not accepted here"
	}
	given, err := g.verifyConsent(ctx, signed)
	if err != nil {
		return nil, err.Error()
	}
	return given, ""
}

// unheard turns the answer to a call whose consent does not count into a refusal that says so, where nothing but a consent was missing: what
// is recorded is answered first.
func unheard(answer deed.Answer, problem string) deed.Answer {
	if problem != "" && answer.Decision == deed.AwaitingApproval {
		answer.Decision, answer.Reason, answer.Text = deed.Denied, deed.ReasonApprovalInvalid, problem
	}
	return answer
}
