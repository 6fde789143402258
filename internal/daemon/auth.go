// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/loopback"
	"github.com/deed-run/deed/internal/server"
	"github.com/deed-run/deed/policy"
)

var errUnauthenticated = errors.New("no valid bearer token")

// tokens finds the principal of a bearer token. Tokens are kept as hashes, so
// the lookup tells nothing about the tokens themselves.
type tokens map[string]deed.Principal

func tokensOf(list []policy.Token) tokens {
	known := tokens{}
	for _, t := range list {
		known[t.SHA256] = deed.Principal{Tenant: t.Tenant, Actor: t.Actor, Rights: t.Rights}
	}
	return known
}

func (t tokens) find(token string) (deed.Principal, bool) {
	sum := sha256.Sum256([]byte(token))
	return t.byHash(hex.EncodeToString(sum[:]))
}

func (t tokens) byHash(sum string) (deed.Principal, bool) {
	who, known := t[sum]
	return who, known
}

// authenticator finds the principal of a request by its bearer token (RFC 6750
// section 2.1), nil when nobody needs one.
func authenticator(auth policy.Auth, clock deed.Clock) (server.Authenticator, error) {
	var ways []server.Authenticator
	if len(auth.Tokens) > 0 {
		known := tokensOf(auth.Tokens)
		ways = append(ways, func(r *http.Request) (deed.Principal, bool) {
			token, ok := server.Bearer(r)
			if !ok {
				return deed.Principal{}, false
			}
			return known.find(token)
		})
	}
	if auth.JWT != nil {
		way, err := jwtAuthenticator(*auth.JWT, clock)
		if err != nil {
			return nil, err
		}
		ways = append(ways, way)
	}
	if len(ways) == 0 {
		return nil, nil
	}
	return server.AnyOf(ways...), nil
}

// keysOf is the key set of an issuer: at an address, or in a file, which is read
// now. key is where the configuration names it.
func keysOf(key, address, file string) (oidc.KeySet, error) {
	if file == "" {
		return server.RemoteKeys(address), nil
	}
	doc, err := os.ReadFile(file)
	if err != nil {
		return nil, &ConfigError{fmt.Errorf("%s.jwks: %w; nothing was started; name the file of a JWK set", key, err)}
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(doc, &set); err != nil || len(set.Keys) == 0 {
		return nil, &ConfigError{fmt.Errorf("%s.jwks: %s holds no JWK set (RFC 7517): %w; nothing was started", key, file, err)}
	}
	fixed := &oidc.StaticKeySet{}
	for _, known := range set.Keys {
		if public := known.Public(); public.Valid() {
			fixed.PublicKeys = append(fixed.PublicKeys, crypto.PublicKey(public.Key))
		}
	}
	return fixed, nil
}

// jwtAuthenticator verifies JSON Web Tokens.
func jwtAuthenticator(j policy.JWT, clock deed.Clock) (server.Authenticator, error) {
	keys, err := keysOf("auth.jwt", j.JWKS.Text, j.JWKSFile)
	if err != nil {
		return nil, err
	}
	return server.Tokens(server.TokenOptions{
		Issuer: j.Issuer, Audience: j.Audience, Keys: keys, TenantClaim: j.TenantClaim, ActorClaim: j.ActorClaim, Tenant: j.Tenant,
		RightsClaim: j.RightsClaim, Rights: j.Rights, Algorithms: j.Algorithms, Clock: clock,
	})
}

// erring makes an Authenticator one of package mcpgate.
func erring(authenticate server.Authenticator) func(*http.Request) (deed.Principal, error) {
	return func(r *http.Request) (deed.Principal, error) {
		who, known := authenticate(r)
		if !known {
			return deed.Principal{}, errUnauthenticated
		}
		return who, nil
	}
}

// onlyLocal refuses to serve other machines without knowing who asks.
func onlyLocal(address string, auth policy.Auth) error {
	if len(auth.Tokens) > 0 || auth.JWT != nil {
		return nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen %q: %w; nothing was started; write host:port", address, err)
	}
	if loopback.Is(host) {
		return nil
	}
	return fmt.Errorf("listen %s: other machines can reach it and neither auth.tokens nor auth.jwt are configured; nothing was started; add one of them, or listen on 127.0.0.1", address)
}
