// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

// consentVerifier verifies approvals that were given elsewhere, nil when none
// are accepted. It says that the issuer signed them for this gateway; whether
// the person may consent, and to what, is the Runtime's to judge.
func consentVerifier(from *policy.Consents, clock deed.Clock) (func(ctx context.Context, signed string) (*deed.ExternalConsent, error), error) {
	if from == nil {
		return nil, nil
	}
	keys, err := keysOf("auth.consents", from.JWKS.Text, from.JWKSFile)
	if err != nil {
		return nil, err
	}
	verifier := oidc.NewVerifier(from.Issuer, keys, &oidc.Config{ClientID: from.Audience, SupportedSigningAlgs: from.Algorithms, Now: clock.Now})
	return func(ctx context.Context, signed string) (*deed.ExternalConsent, error) {
		token, err := verifier.Verify(ctx, signed)
		if err != nil {
			return nil, fmt.Errorf("the consent is not one of %s for this gateway, or its time is over; nothing was sent", from.Issuer)
		}
		var claims map[string]any
		if err := token.Claims(&claims); err != nil {
			return nil, errors.New("the consent holds no claims; nothing was sent")
		}
		text := func(name string) string {
			value, _ := claims[name].(string)
			return value
		}
		given := &deed.ExternalConsent{
			ID: text("jti"), Digest: deed.Digest(text(from.DigestClaim)), Approver: deed.Actor(text(from.ApproverClaim)), ExpiresAt: token.Expiry,
		}
		if given.ID == "" || given.Digest == "" || given.Approver == "" {
			return nil, fmt.Errorf("the consent lacks jti, %s or %s; nothing was sent", from.DigestClaim, from.ApproverClaim)
		}
		return given, nil
	}, nil
}
