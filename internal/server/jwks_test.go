// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/deed-run/deed/internal/server"
	"github.com/deed-run/deed/storetest"
)

// keyServer publishes a set of keys that changes, and may be away.
type keyServer struct {
	t       *testing.T
	address string

	mu   sync.Mutex
	set  jose.JSONWebKeySet
	down bool
}

func newKeyServer(t *testing.T) *keyServer {
	t.Helper()
	k := &keyServer{t: t}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.down {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(k.set)
	}))
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		web.Close()
	})
	k.address = web.URL
	return k
}

// key makes a key of a name, which signs and is not published yet.
func (k *keyServer) key(id string) (private *ecdsa.PrivateKey, public jose.JSONWebKey) {
	k.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		k.t.Fatal(err)
	}
	return private, jose.JSONWebKey{Key: private.Public(), KeyID: id, Algorithm: string(jose.ES256), Use: "sig"}
}

func (k *keyServer) publish(keys ...jose.JSONWebKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.set.Keys = keys
}

func (k *keyServer) away(down bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.down = down
}

// signed is a good token of a key.
func signed(t *testing.T, key *ecdsa.PrivateKey, id string, changes map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claimsWith(changes))
	if err != nil {
		t.Fatal(err)
	}
	token, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, err := token.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestKeysOfAnIssuerAreRotatedAndOutagesOutlived(t *testing.T) {
	k := newKeyServer(t)
	oldKey, oldPublic := k.key("old")
	newKey, newPublic := k.key("new")
	o := server.TokenOptions{Issuer: "https://issuer.example", Audience: "deed", Keys: server.RemoteKeys(k.address), Clock: storetest.NewClock(noon)}
	ofOld, ofNew := "Bearer "+signed(t, oldKey, "old", nil), "Bearer "+signed(t, newKey, "new", nil)
	steps := []struct {
		name       string
		before     func()
		token      string
		acceptable bool
	}{
		{"the issuer is away at the first token", func() { k.publish(oldPublic); k.away(true) }, ofOld, false},
		{"it is back", func() { k.away(false) }, ofOld, true},
		{"a key that is not published yet", func() {}, ofNew, false},
		{"away, and the key is known", func() { k.away(true) }, ofOld, true},
		{"away, and the key is not", func() {}, ofNew, false},
		{"away, and the known key still counts", func() {}, ofOld, true},
		{"back with a second key", func() { k.away(false); k.publish(oldPublic, newPublic) }, ofNew, true},
		{"both count for a while", func() {}, ofOld, true},
		{"the old one is withdrawn, which the next unknown key shows", func() {
			k.publish(newPublic)
			stranger, _ := k.key("stranger")
			if _, known := authenticate(t, o, "Bearer "+signed(t, stranger, "stranger", nil)); known {
				t.Error("a stranger's key counts")
			}
		}, ofOld, false},
		{"the new one goes on", func() {}, ofNew, true},
	}
	for _, s := range steps {
		// A fetch that has just ended still answers who asks at that moment, so
		// a step is tried until it holds.
		deadline := time.Now().Add(time.Minute)
		for s.before(); ; s.before() {
			_, known := authenticate(t, o, s.token)
			if known == s.acceptable {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: known %v, want %v", s.name, known, s.acceptable)
			}
			runtime.Gosched()
		}
	}
}

// The issuer's clock and ours differ.
func TestTokensOfAnIssuerWhoseClockDiffers(t *testing.T) {
	k := newKeyServer(t)
	key, public := k.key("one")
	k.publish(public)
	o := server.TokenOptions{Issuer: "https://issuer.example", Audience: "deed", Keys: server.RemoteKeys(k.address), Clock: storetest.NewClock(noon)}
	at := func(d time.Duration) int64 { return noon.Add(d).Unix() }
	for name, c := range map[string]struct {
		claims     map[string]any
		acceptable bool
	}{
		"made in four minutes":            {map[string]any{"iat": at(4 * time.Minute), "nbf": at(4 * time.Minute)}, true},
		"good in six minutes":             {map[string]any{"nbf": at(6 * time.Minute)}, false},
		"ends in a second":                {map[string]any{"exp": at(time.Second)}, true},
		"ended a second ago":              {map[string]any{"exp": at(-time.Second)}, false},
		"ended before it was good":        {map[string]any{"nbf": at(time.Minute), "exp": at(-time.Minute)}, false},
		"good since long, ends in a year": {map[string]any{"nbf": at(-1e6 * time.Second), "exp": at(365 * 24 * time.Hour)}, true},
		"times that are words":            {map[string]any{"exp": "tomorrow"}, false},
	} {
		if _, known := authenticate(t, o, "Bearer "+signed(t, key, "one", c.claims)); known != c.acceptable {
			t.Errorf("%s: known %v, want %v", name, known, c.acceptable)
		}
	}
}
