// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

// signer signs claims as an issuer does, and keeps its public key in a file.
func signer(t *testing.T) (sign func(claims map[string]any) string, keys string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: private.Public(), KeyID: "k1", Algorithm: "ES256", Use: "sig"}}})
	if err != nil {
		t.Fatal(err)
	}
	keys = filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(keys, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	signing, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: private}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(claims map[string]any) string {
		payload, err := json.Marshal(claims)
		if err != nil {
			t.Fatal(err)
		}
		object, err := signing.Sign(payload)
		if err != nil {
			t.Fatal(err)
		}
		text, err := object.CompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}, keys
}

func TestConsentsGivenElsewhere(t *testing.T) {
	sign, keys := signer(t)
	stranger, _ := signer(t)
	verify, err := consentVerifier(&policy.Consents{
		JWKSFile: keys, Issuer: "https://people.example", Audience: "deed", ApproverClaim: "sub", DigestClaim: "digest", Algorithms: []string{"ES256"},
	}, deed.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	claims := func(change func(map[string]any)) map[string]any {
		all := map[string]any{
			"iss": "https://people.example", "aud": "deed", "sub": "ada", "jti": "c-1", "digest": "sha256:1", "exp": time.Now().Add(time.Hour).Unix(),
		}
		change(all)
		return all
	}
	given, err := verify(t.Context(), sign(claims(func(map[string]any) {})))
	if err != nil || given.ID != "c-1" || given.Digest != "sha256:1" || given.Approver != "ada" || given.ExpiresAt.IsZero() {
		t.Errorf("given %+v, %v", given, err)
	}
	for name, signed := range map[string]string{
		"of another issuer":      sign(claims(func(c map[string]any) { c["iss"] = "https://other.example" })),
		"for another gateway":    sign(claims(func(c map[string]any) { c["aud"] = "other" })),
		"that is over":           sign(claims(func(c map[string]any) { c["exp"] = time.Now().Add(-time.Minute).Unix() })),
		"without an id":          sign(claims(func(c map[string]any) { delete(c, "jti") })),
		"to nothing":             sign(claims(func(c map[string]any) { delete(c, "digest") })),
		"of nobody":              sign(claims(func(c map[string]any) { delete(c, "sub") })),
		"signed by a stranger":   stranger(claims(func(map[string]any) {})),
		"that is no signed text": "consent",
	} {
		if given, err := verify(t.Context(), signed); err == nil || !strings.Contains(err.Error(), "nothing was sent") {
			t.Errorf("a consent %s: %+v, %v", name, given, err)
		}
	}
}

func TestTokensOfAnIssuerInAFile(t *testing.T) {
	sign, keys := signer(t)
	known, err := authenticator(policy.Auth{JWT: &policy.JWT{
		JWKSFile: keys, Issuer: "https://people.example", Audience: "deed", TenantClaim: "tenant", ActorClaim: "sub", RightsClaim: "scope", Algorithms: []string{"ES256"},
	}}, deed.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	request := requestWith(sign(map[string]any{
		"iss": "https://people.example", "aud": "deed", "sub": "agent", "tenant": "acme", "scope": "call read fly", "exp": time.Now().Add(time.Hour).Unix(),
	}))
	who, ok := known(request)
	if !ok || who.Tenant != "acme" || who.Actor != "agent" || len(who.Rights) != 2 {
		t.Errorf("known %v as %+v", ok, who)
	}
	if _, ok := known(requestWith("nothing")); ok {
		t.Error("a text that is no token is somebody")
	}
	for name, file := range map[string]string{"is not there": filepath.Join(t.TempDir(), "none"), "is no key set": os.Args[0]} {
		if _, err := authenticator(policy.Auth{JWT: &policy.JWT{JWKSFile: file, Issuer: "i", Audience: "a"}}, deed.SystemClock{}); err == nil || !strings.Contains(err.Error(), "auth.jwt.jwks") {
			t.Errorf("a file that %s: %v", name, err)
		}
	}
}
