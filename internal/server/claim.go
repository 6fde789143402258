// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/keyheader"
)

// claim answers POST /v1/claims.
func (s *Server) claim(x *exchange) reply {
	var body api.ClaimRequest
	if no, refused := x.decode(&body); refused {
		return no
	}
	if why := wrongClaim(body); why != "" {
		return malformed(why + "; nothing was done")
	}
	if why := wrongMeta(body.Meta); why != "" {
		return malformed(why)
	}
	if body.Key == "" && x.names("key") {
		return s.badKey("key is empty")
	}
	keys, wrong := keyheader.Keys(x.Header)
	if wrong != "" {
		return s.badKey(wrong)
	}
	if len(keys) > 0 && len(body.Derive) > 0 {
		return malformed("the header Idempotency-Key and derive exclude each other; nothing was done")
	}
	family := s.familyOf(body.Tool, body.Family)
	call := deed.Call{
		Principal: x.who, Tool: body.Tool, Arguments: bytes.Clone(body.Arguments), Carriers: carriers(keys, family),
		Meta: body.Meta, ExpiresAt: body.ExpiresAt, EffectFingerprint: body.EffectFingerprint, Facts: s.Facts(body.Tool),
		ManualLease: true, ClaimToken: body.ClaimToken, Derive: body.Derive, ArrivedAt: x.arrived,
	}
	if body.Key != "" {
		call.Carriers = append(call.Carriers, deed.Carrier{Provenance: deed.ProvenanceRuntime, Identity: deed.IdentityOf(family, body.Key), Name: "key"})
	}
	a, grant, err := s.Runtime.Claim(x.Context(), call)
	if err != nil {
		return s.failure(err)
	}
	if len(body.Derive) > 0 {
		a.Rule.Key.From = body.Derive
	}
	if grant == nil {
		return s.answered(x, a, func(v api.Verdict) any { return api.ClaimAnswer{Verdict: v} })
	}
	granted := api.ClaimAnswer{Verdict: s.verdict(a), Arguments: grant.Arguments}
	granted.Decision = deed.Execute
	if !grant.Unrecorded {
		granted.OperationID, granted.Attempt, granted.SendBy = grant.Operation, grant.Attempt, grant.SendBy.UTC()
		granted.LeaseExpiresAt, granted.ProviderKey = grant.LeaseExpiresAt.UTC(), grant.ProviderKey
		granted.Regranted = grant.Regranted
		s.out.gave(attemptOut{grant.Tenant, grant.Operation, grant.Attempt}, grant.LeaseExpiresAt, s.Clock.Now())
	}
	return answer(http.StatusOK, granted)
}

func wrongClaim(body api.ClaimRequest) string {
	switch {
	case body.Tool.Upstream() == "" || body.Tool.Name() == "" || strings.ContainsAny(string(body.Tool), "\x00\r\n"):
		return `tool is of the form "system/name"`
	case len(body.Arguments) == 0 || body.Arguments[0] != '{':
		return "arguments is a JSON object"
	case body.Key != "" && len(body.Derive) > 0:
		return "key and derive exclude each other"
	case len(body.ClaimToken) > maxMetaBytes:
		return "claim_token is too long"
	}
	switch body.Family {
	case "", deed.FamilyOperation, deed.FamilyCreation, deed.FamilySecret:
		return ""
	}
	return "family is operation, creation or secret"
}
