// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/server"
	"github.com/deed-run/deed/storetest"
)

// issuer signs tokens and publishes its keys.
type issuer struct {
	t       *testing.T
	keys    map[jose.SignatureAlgorithm]crypto.Signer
	address string
	fetched atomic.Int64
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{t: t, keys: map[jose.SignatureAlgorithm]crypto.Signer{jose.RS256: rsaKey, jose.ES256: ecKey, jose.EdDSA: edKey}}
	var set jose.JSONWebKeySet
	for alg, key := range i.keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: string(alg), Algorithm: string(alg), Use: "sig"})
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.fetched.Add(1)
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/keys", http.StatusFound)
			return
		}
		_ = json.NewEncoder(w).Encode(set)
	}))
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		web.Close()
	})
	i.address = web.URL
	return i
}

func (i *issuer) token(alg jose.SignatureAlgorithm, claims map[string]any) string {
	i.t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: i.keys[alg], KeyID: string(alg)}}, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		i.t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		i.t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return text
}

// claims of a good token, with what a test changes; a nil value removes one.
func claimsWith(changes map[string]any) map[string]any {
	claims := map[string]any{
		"iss": "https://issuer.example", "aud": "deed", "sub": "agent", "tenant": "acme", "scope": "call read openid",
		"exp": noon.Add(time.Hour).Unix(), "iat": noon.Unix(),
	}
	for name, value := range changes {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	return claims
}

func authenticate(t *testing.T, o server.TokenOptions, authorization ...string) (deed.Principal, bool) {
	t.Helper()
	find, err := server.Tokens(o)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/v1/operations", nil)
	for _, value := range authorization {
		r.Header.Add("Authorization", value)
	}
	return find(r)
}

func TestTokensOfAnIssuer(t *testing.T) {
	i := newIssuer(t)
	keys := server.RemoteKeys(i.address + "/keys")
	agent := deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightCall, deed.RightRead}}
	for name, c := range map[string]struct {
		alg    jose.SignatureAlgorithm
		claims map[string]any
		change func(*server.TokenOptions)
		want   deed.Principal
	}{
		"RS256":                   {alg: jose.RS256, want: agent},
		"ES256":                   {alg: jose.ES256, want: agent},
		"EdDSA":                   {alg: jose.EdDSA, want: agent},
		"PS256":                   {alg: jose.PS256},
		"one of several readers":  {alg: jose.ES256, claims: map[string]any{"aud": []string{"other", "deed"}}, want: agent},
		"another reader":          {alg: jose.ES256, claims: map[string]any{"aud": "other"}},
		"no reader":               {alg: jose.ES256, claims: map[string]any{"aud": nil}},
		"another issuer":          {alg: jose.ES256, claims: map[string]any{"iss": "https://evil.example"}},
		"expired":                 {alg: jose.ES256, claims: map[string]any{"exp": noon.Add(-time.Second).Unix()}},
		"without an end":          {alg: jose.ES256, claims: map[string]any{"exp": nil}},
		"not valid yet":           {alg: jose.ES256, claims: map[string]any{"nbf": noon.Add(time.Hour).Unix()}},
		"no tenant":               {alg: jose.ES256, claims: map[string]any{"tenant": nil}},
		"a tenant that is a list": {alg: jose.ES256, claims: map[string]any{"tenant": []string{"acme"}}},
		"no actor":                {alg: jose.ES256, claims: map[string]any{"sub": nil}},
		"no rights":               {alg: jose.ES256, claims: map[string]any{"scope": nil}, want: deed.Principal{Tenant: "acme", Actor: "agent"}},
		"rights as a list": {
			alg: jose.ES256, claims: map[string]any{"scope": []any{"resolve", "root", 7}},
			want: deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightResolve}},
		},
		"other claims": {
			alg: jose.ES256, claims: map[string]any{"org": "globex", "client": "worker", "may": "call"},
			change: func(o *server.TokenOptions) { o.TenantClaim, o.ActorClaim, o.RightsClaim = "org", "client", "may" },
			want:   deed.Principal{Tenant: "globex", Actor: "worker", Rights: []deed.Right{deed.RightCall}},
		},
		"one tenant with the same rights": {
			alg:    jose.ES256,
			change: func(o *server.TokenOptions) { o.Tenant, o.Rights = "default", []deed.Right{deed.RightCall} },
			want:   deed.Principal{Tenant: "default", Actor: "agent", Rights: []deed.Right{deed.RightCall}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := server.TokenOptions{Issuer: "https://issuer.example", Audience: "deed", Keys: keys, Clock: storetest.NewClock(noon)}
			if c.change != nil {
				c.change(&o)
			}
			if c.alg == jose.PS256 {
				i.keys[c.alg] = i.keys[jose.RS256]
			}
			got, known := authenticate(t, o, "Bearer "+i.token(c.alg, claimsWith(c.claims)))
			if diff := cmp.Diff(c.want, got); diff != "" || known != (c.want.Tenant != "") {
				t.Errorf("known %v (-want +got):\n%s", known, diff)
			}
		})
	}
}

func TestTokensThatAreForged(t *testing.T) {
	i, evil := newIssuer(t), newIssuer(t)
	o := server.TokenOptions{
		Issuer: "https://issuer.example", Audience: "deed", Clock: storetest.NewClock(noon),
		Keys: &oidc.StaticKeySet{PublicKeys: []crypto.PublicKey{i.keys[jose.RS256].Public(), i.keys[jose.ES256].Public()}},
	}
	good := i.token(jose.ES256, claimsWith(nil))
	parts := strings.Split(good, ".")
	part := func(doc string) string { return base64.RawURLEncoding.EncodeToString([]byte(doc)) }
	forged := claimsWith(map[string]any{"tenant": "globex"})
	payload, err := json.Marshal(forged)
	if err != nil {
		t.Fatal(err)
	}
	mac, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte("0123456789abcdef0123456789abcdef")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	symmetric, err := mac.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := symmetric.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	for name, headers := range map[string][]string{
		"nothing":                   nil,
		"no token":                  {"Bearer "},
		"another scheme":            {"Basic " + good},
		"two tokens":                {"Bearer " + good, "Bearer " + good},
		"another issuer's key":      {"Bearer " + evil.token(jose.ES256, claimsWith(nil))},
		"another payload":           {"Bearer " + parts[0] + "." + part(string(payload)) + "." + parts[2]},
		"no signature":              {"Bearer " + parts[0] + "." + parts[1] + "."},
		"the algorithm none":        {"Bearer " + part(`{"alg":"none"}`) + "." + part(string(payload)) + "."},
		"a symmetric algorithm":     {"Bearer " + shared},
		"text":                      {"Bearer no-token-at-all"},
		"a key that the set lacks":  {"Bearer " + i.token(jose.EdDSA, claimsWith(nil))},
		"a token in a query's form": {good},
	} {
		t.Run(name, func(t *testing.T) {
			if who, known := authenticate(t, o, headers...); known {
				t.Errorf("taken for %+v", who)
			}
		})
	}
	if _, known := authenticate(t, o, "bearer "+good); !known {
		t.Error("the good token is refused")
	}
}

func TestKeysAreFetchedOnceAndNeverFromElsewhere(t *testing.T) {
	i := newIssuer(t)
	o := server.TokenOptions{Issuer: "https://issuer.example", Audience: "deed", Keys: server.RemoteKeys(i.address + "/keys"), Clock: storetest.NewClock(noon)}
	for range 3 {
		if _, known := authenticate(t, o, "Bearer "+i.token(jose.ES256, claimsWith(nil))); !known {
			t.Fatal("unknown")
		}
	}
	if n := i.fetched.Load(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
	o.Keys = server.RemoteKeys(i.address + "/moved")
	if _, known := authenticate(t, o, "Bearer "+i.token(jose.ES256, claimsWith(nil))); known {
		t.Error("keys were taken from where a redirect led")
	}
}

func TestTokensOfAnyAuthenticator(t *testing.T) {
	nobody := func(*http.Request) (deed.Principal, bool) { return deed.Principal{}, false }
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer reader")
	if who, known := server.AnyOf(nobody, byToken)(r); !known || who.Actor != "reader" {
		t.Errorf("%+v", who)
	}
	if _, known := server.AnyOf(nobody)(r); known {
		t.Error("nobody is known")
	}
	if _, err := server.Tokens(server.TokenOptions{Issuer: "x", Keys: server.RemoteKeys("http://127.0.0.1:1")}); err == nil {
		t.Error("without an audience, tokens for others would be accepted")
	}
}
