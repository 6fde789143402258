// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

var errUnauthenticated = errors.New("no valid bearer token")

// authenticator finds the principal of a request by its bearer token (RFC 6750
// section 2.1). Tokens are kept as hashes, so the lookup tells nothing about
// the tokens themselves.
func authenticator(tokens []policy.Token) func(*http.Request) (deed.Principal, error) {
	known := map[string]deed.Principal{}
	for _, t := range tokens {
		known[t.SHA256] = deed.Principal{Tenant: t.Tenant, Actor: t.Actor, Rights: t.Rights}
	}
	return func(r *http.Request) (deed.Principal, error) {
		headers := r.Header.Values("Authorization")
		if len(headers) != 1 {
			return deed.Principal{}, errUnauthenticated
		}
		scheme, token, found := strings.Cut(headers[0], " ")
		token = strings.TrimSpace(token)
		if !found || !strings.EqualFold(scheme, "Bearer") || token == "" {
			return deed.Principal{}, errUnauthenticated
		}
		sum := sha256.Sum256([]byte(token))
		who, ok := known[hex.EncodeToString(sum[:])]
		if !ok {
			return deed.Principal{}, errUnauthenticated
		}
		return who, nil
	}
}

// onlyLocal refuses to serve other machines without knowing who asks.
func onlyLocal(address string, tokens []policy.Token) error {
	if len(tokens) > 0 {
		return nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen %q: %w; nothing was started; write host:port", address, err)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("listen %s: other machines can reach it and no auth.tokens are configured; nothing was started; add tokens, or listen on 127.0.0.1", address)
}
