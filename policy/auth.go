// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/deed-run/deed"
)

// Auth lists who may connect. Whoever any of it names may.
type Auth struct {
	Tokens []Token
	// JWT, when set, accepts JSON Web Tokens of an issuer as bearer tokens.
	JWT *JWT
	// OIDC, when set, lets people sign in to the console.
	OIDC *OIDC
	// Consents, when set, accepts approvals that were given elsewhere.
	Consents *Consents
}

// Token is a bearer token, known by its hash, and the principal it stands for.
type Token struct {
	// SHA256 is the lower-case hex digest of the token.
	SHA256 string
	Tenant deed.Tenant
	Actor  deed.Actor
	Rights []deed.Right
}

func authKeys() []key[Config] {
	return []key[Config]{
		{
			name:  "tokens",
			read:  func(d *decoder, at place, c *Config) { d.tokens(at, c) },
			below: below("[].", tokenKeys),
		},
		{
			name:  "jwt",
			read:  func(d *decoder, at place, c *Config) { d.jwt(at, c) },
			below: below(".", jwtKeys),
		},
		{
			name:  "oidc",
			read:  func(d *decoder, at place, c *Config) { d.oidc(at, c) },
			below: below(".", oidcKeys),
		},
		{
			name:  "consents",
			read:  func(d *decoder, at place, c *Config) { d.consents(at, c) },
			below: below(".", consentsKeys),
		},
	}
}

func tokenKeys() []key[Token] {
	return []key[Token]{
		{name: "sha256", read: func(d *decoder, at place, t *Token) { d.tokenHash(at, t) }},
		{name: "tenant", read: func(d *decoder, at place, t *Token) { name(d, at, &t.Tenant) }},
		{name: "actor", read: func(d *decoder, at place, t *Token) { name(d, at, &t.Actor) }},
		{name: "rights", read: func(d *decoder, at place, t *Token) { t.Rights = d.rights(at) }},
	}
}

func (d *decoder) tokens(at place, config *Config) {
	seen := map[string]bool{}
	for _, item := range d.items(at, "tokens") {
		before := len(d.found)
		token := Token{Tenant: config.Tenant}
		block(d, item, tokenKeys(), &token)
		if len(d.found) > before {
			continue
		}
		switch {
		case token.SHA256 == "":
			d.refuse(item, "has no sha256", "write the SHA-256 of the bearer token in hex")
		case token.Actor == "":
			d.refuse(item, "has no actor", "write actor: and the name of who holds the token")
		case len(token.Rights) == 0:
			d.refuse(item, "has no rights", "write rights: [call, read] or what the holder may do")
		case seen[token.SHA256]:
			d.refuse(item, "names a token that an earlier entry names", "remove one of the two")
		}
		seen[token.SHA256] = true
		config.Auth.Tokens = append(config.Auth.Tokens, token)
	}
}

func (d *decoder) tokenHash(at place, token *Token) {
	text, ok := d.text(at)
	if !ok {
		return
	}
	text = strings.ToLower(text)
	if raw, err := hex.DecodeString(text); err != nil || len(raw) != 32 {
		d.refuse(at, "is no SHA-256", "write the 64 hex digits of the SHA-256 of the bearer token, never the token")
		return
	}
	token.SHA256 = text
}

func (d *decoder) rights(at place) []deed.Right {
	var list []deed.Right
	for _, item := range d.items(at, "rights") {
		var right deed.Right
		word(d, item, &right, deed.RightCall, deed.RightRead, deed.RightApprove, deed.RightResolve, deed.RightAdmin)
		if right != "" && !slices.Contains(list, right) {
			list = append(list, right)
		}
	}
	return list
}
