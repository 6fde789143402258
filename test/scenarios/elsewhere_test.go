// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/deed-run/deed/faultkit/caller"
)

// f09Elsewhere presents one approval that was given elsewhere at two runs.
func f09Elsewhere(w *world) {
	sign := w.acceptConsents()
	deploy := func(run, consent string) caller.Call {
		c := caller.Call{
			Tool: "deploy.run", Arguments: raw(object{"id": "prod", "env": "prod", "image": "img1"}), Meta: object{"deed/run": run},
		}
		if consent != "" {
			c.Meta["deed/approval"] = consent
		}
		return c
	}
	id := w.proposed(deploy("R1", ""))
	consent := sign(w.shown(id).Approval.Digest)
	w.oneOf(w.together(8, func(int) caller.Call { return deploy("R1", consent) }, w.running), committed, "in_progress|replay")
	step := w.call(deploy("R2", consent), "denied:approval_invalid")
	if text := strings.Join(step.Result.Texts, " "); !strings.Contains(text, id) {
		w.Errorf("the second run is not told that %s consumed the approval: %q", id, text)
	}
	w.call(deploy("R2", ""), "awaiting_approval")
	w.counted("prod", 1, 1)
}

// acceptConsents makes the gateways accept what an issuer signs, and returns the
// issuer's consent to a digest; its id is always the same.
func (w *world) acceptConsents() (sign func(digest string) string) {
	w.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.must(err)
	keys := filepath.Join(w.TempDir(), "keys.json")
	w.must(os.WriteFile(keys, raw(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: private.Public(), KeyID: "k1", Algorithm: "ES256", Use: "sig"}}}), 0o600))
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: private}, nil)
	w.must(err)
	w.config["auth"] = object{"consents": object{"jwks": keys, "issuer": "https://people.example", "audience": "deed"}}
	w.write(w.gateway.Config, w.config)
	w.restart()
	return func(digest string) string {
		object, err := signer.Sign(raw(object{
			"iss": "https://people.example", "aud": "deed", "sub": "ada", "jti": "AP1", "digest": digest, "exp": time.Now().Add(time.Hour).Unix(),
		}))
		w.must(err)
		text, err := object.CompactSerialize()
		w.must(err)
		return text
	}
}
