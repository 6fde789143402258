// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/deed-run/deed"
)

// TokenOptions say which JSON Web Tokens are accepted. Issuer, Audience and
// Keys are required.
type TokenOptions struct {
	// Issuer is what the claim iss must be.
	Issuer string
	// Audience is what the claim aud must name: a token for somebody else is
	// none for this gateway (RFC 8707).
	Audience string
	// Keys verify signatures; see [RemoteKeys].
	Keys oidc.KeySet
	// TenantClaim and ActorClaim name the claims that hold tenant and actor; by
	// default "tenant" and "sub". Tenant, when set, is everybody's instead of a
	// claim.
	TenantClaim string
	ActorClaim  string
	Tenant      deed.Tenant
	// RightsClaim names the claim that lists rights, as an array or as words
	// with spaces between; by default "scope". Words that are no rights mean
	// nothing. Rights, when set, is everybody's instead of a claim.
	RightsClaim string
	Rights      []deed.Right
	// Algorithms are the signatures that count: RS256, ES256 and EdDSA, or some
	// of them; all by default.
	Algorithms []string
	// Clock judges exp; the system's by default.
	Clock deed.Clock
}

// signatures are asymmetric: whoever can verify a token cannot make one.
var signatures = []string{oidc.RS256, oidc.ES256, oidc.EdDSA}

// keyWait bounds one look at a key set.
const keyWait = 10 * time.Second

// RemoteKeys is the JWK set at an address (RFC 7517), kept and fetched anew
// when an unknown key signs. Redirects are not followed.
func RemoteKeys(address string) oidc.KeySet {
	client := &http.Client{
		Timeout:       keyWait,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), client), address)
}

// Tokens authenticates bearer tokens that are JSON Web Tokens, signed with
// RS256, ES256 or EdDSA. A token without tenant or actor is nobody's.
func Tokens(o TokenOptions) (Authenticator, error) {
	if o.Issuer == "" || o.Audience == "" || o.Keys == nil {
		return nil, errors.New("server: TokenOptions needs Issuer, Audience and Keys: tokens made for others would be accepted")
	}
	if o.TenantClaim == "" {
		o.TenantClaim = "tenant"
	}
	if o.ActorClaim == "" {
		o.ActorClaim = "sub"
	}
	if o.RightsClaim == "" {
		o.RightsClaim = "scope"
	}
	if len(o.Algorithms) == 0 {
		o.Algorithms = signatures
	}
	for _, algorithm := range o.Algorithms {
		if !slices.Contains(signatures, algorithm) {
			return nil, fmt.Errorf("server: TokenOptions.Algorithms has %q: whoever verifies such a token could make one, or it is unknown", algorithm)
		}
	}
	if o.Clock == nil {
		o.Clock = deed.SystemClock{}
	}
	verifier := oidc.NewVerifier(o.Issuer, o.Keys, &oidc.Config{
		ClientID: o.Audience, SupportedSigningAlgs: slices.Clone(o.Algorithms), Now: o.Clock.Now,
	})
	return func(r *http.Request) (deed.Principal, bool) {
		raw, ok := Bearer(r)
		if !ok {
			return deed.Principal{}, false
		}
		token, err := verifier.Verify(r.Context(), raw)
		if err != nil {
			return deed.Principal{}, false
		}
		var claims map[string]any
		if err := token.Claims(&claims); err != nil {
			return deed.Principal{}, false
		}
		who, err := o.principal(claims)
		return who, err == nil
	}, nil
}

// Bearer returns the token of a request (RFC 6750 section 2.1).
func Bearer(r *http.Request) (string, bool) {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return "", false
	}
	scheme, token, found := strings.Cut(headers[0], " ")
	token = strings.TrimSpace(token)
	return token, found && strings.EqualFold(scheme, "Bearer") && token != ""
}

func (o TokenOptions) principal(claims map[string]any) (deed.Principal, error) {
	who := deed.Principal{Tenant: o.Tenant, Rights: slices.Clone(o.Rights)}
	if who.Tenant == "" {
		tenant, _ := claims[o.TenantClaim].(string)
		who.Tenant = deed.Tenant(tenant)
	}
	actor, _ := claims[o.ActorClaim].(string)
	who.Actor = deed.Actor(actor)
	if who.Tenant == "" || who.Actor == "" {
		return deed.Principal{}, fmt.Errorf("the token names no %s or no %s", o.TenantClaim, o.ActorClaim)
	}
	if who.Rights == nil {
		who.Rights = rightsOf(claims[o.RightsClaim])
	}
	return who, nil
}

func rightsOf(claim any) []deed.Right {
	var words []string
	switch c := claim.(type) {
	case string:
		words = strings.Fields(c)
	case []any:
		for _, word := range c {
			if text, ok := word.(string); ok {
				words = append(words, text)
			}
		}
	}
	var rights []deed.Right
	for _, word := range words {
		switch right := deed.Right(word); right {
		case deed.RightCall, deed.RightRead, deed.RightApprove, deed.RightResolve, deed.RightAdmin:
			rights = append(rights, right)
		}
	}
	return rights
}

// AnyOf asks one Authenticator after the other.
func AnyOf(list ...Authenticator) Authenticator {
	return func(r *http.Request) (deed.Principal, bool) {
		for _, authenticate := range list {
			if who, known := authenticate(r); known {
				return who, true
			}
		}
		return deed.Principal{}, false
	}
}
