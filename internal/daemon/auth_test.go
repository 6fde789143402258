// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

func TestBearerTokens(t *testing.T) {
	sum := sha256.Sum256([]byte("s3cret"))
	who := deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightCall}}
	known, err := authenticator(policy.Auth{Tokens: []policy.Token{{SHA256: hex.EncodeToString(sum[:]), Tenant: who.Tenant, Actor: who.Actor, Rights: who.Rights}}}, deed.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	find := erring(known)
	for _, c := range []struct {
		name    string
		headers []string
		known   bool
	}{
		{"the token is known", []string{"Bearer s3cret"}, true},
		{"the scheme has no case", []string{"bearer s3cret"}, true},
		{"no header", nil, false},
		{"another token", []string{"Bearer other"}, false},
		{"another scheme", []string{"Basic s3cret"}, false},
		{"no token", []string{"Bearer "}, false},
		{"the hash is not the token", []string{"Bearer " + hex.EncodeToString(sum[:])}, false},
		{"two headers", []string{"Bearer s3cret", "Bearer s3cret"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/mcp/x", nil)
			for _, h := range c.headers {
				r.Header.Add("Authorization", h)
			}
			got, err := find(r)
			want := deed.Principal{}
			if c.known {
				want = who
			}
			if diff := cmp.Diff(want, got); diff != "" || (err == nil) != c.known {
				t.Errorf("err %v, principal (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestOnlyThisMachineWithoutTokens(t *testing.T) {
	for address, allowed := range map[string]bool{
		"127.0.0.1:0": true, "[::1]:7391": true, "localhost:7391": true, "127.9.9.9:1": true,
		"0.0.0.0:7391": false, ":7391": false, "[::]:7391": false, "192.0.2.1:7391": false, "example.com:80": false, "nonsense": false,
	} {
		if err := onlyLocal(address, policy.Auth{}); (err == nil) != allowed {
			t.Errorf("%s without tokens: %v", address, err)
		}
	}
	if err := onlyLocal("0.0.0.0:7391", policy.Auth{Tokens: []policy.Token{{}}}); err != nil {
		t.Errorf("with tokens: %v", err)
	}
}

// requestWith carries a bearer token.
func requestWith(token string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/v1/claims", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}
