// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/console"
)

// provider is an identity provider that logs in whoever comes.
type provider struct {
	*httptest.Server
	t   *testing.T
	key *rsa.PrivateKey
	// claims are what the next token says; nonce and challenge are those of the
	// login under way.
	claims           map[string]any
	nonce, challenge string
}

func newProvider(t *testing.T) *provider {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{t: t, key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.answer(w, map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		p.answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "RS256", Use: "sig"}}})
	})
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		p.t.Error(err)
	}
}

// token checks the proof of possession (RFC 7636 section 4.6).
func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if r.FormValue("code") != "good-code" || base64.RawURLEncoding.EncodeToString(sum[:]) != p.challenge {
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
		return
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: p.key}, (&jose.SignerOptions{}).WithHeader("kid", "k"))
	if err != nil {
		p.t.Error(err)
		return
	}
	claims := map[string]any{"iss": p.URL, "aud": "console", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "nonce": p.nonce}
	for name, value := range p.claims {
		claims[name] = value
	}
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		p.t.Error(err)
		return
	}
	p.answer(w, map[string]any{"access_token": "unused", "token_type": "Bearer", "id_token": text})
}

func TestLoggingInAtAnIdentityProvider(t *testing.T) {
	p := newProvider(t)
	r := newRig(t, func(o *console.Options) {
		o.Tokens = nil
		o.OIDC = &console.OIDC{
			Issuer: p.URL, ClientID: "console", ClientSecret: "s", RedirectURL: "http://localhost:7391/login/callback", Tenant: "acme", ActorClaim: "email", Client: p.Client(),
			Rights: func(values []string) []deed.Right {
				if slices.ContainsFunc(values, func(value string) bool { return strings.HasPrefix(value, "deed-approvers") }) {
					return []deed.Right{deed.RightRead, deed.RightApprove}
				}
				return nil
			},
		}
	})
	good := map[string]any{"sub": "u1", "email": "anna@acme.example", "groups": []string{"staff", "deed-approvers"}}
	// begin goes to the provider and returns the state that it was sent with.
	begin := func(t *testing.T, who *person) string {
		t.Helper()
		want(t, who.page("/login"), "Log in with 127.0.0.1")
		w := who.post("/login/oidc", url.Values{"next": {"/approvals"}})
		there := regexp.MustCompile(`content="0;url=([^"]+)"`).FindStringSubmatch(w.Body.String())
		if there == nil {
			t.Fatalf("HTTP %d: %s", w.Code, w.Body)
		}
		at, err := url.Parse(html.UnescapeString(there[1]))
		if err != nil {
			t.Fatal(err)
		}
		q := at.Query()
		if !strings.HasPrefix(at.String(), p.URL+"/authorize?") || q.Get("code_challenge_method") != "S256" || q.Get("response_type") != "code" || !strings.Contains(q.Get("scope"), "openid") {
			t.Errorf("the request is %s", at)
		}
		p.nonce, p.challenge, p.claims = q.Get("nonce"), q.Get("code_challenge"), good
		who.cookies = w.Result().Cookies()
		if c := who.cookies[0]; c.SameSite != http.SameSiteLaxMode || !c.HttpOnly {
			t.Errorf("%+v", c)
		}
		return q.Get("state")
	}
	t.Run("the code is exchanged for a session", func(t *testing.T) {
		anna := &person{rig: r}
		w := anna.get("/login/callback?code=good-code&state=" + begin(t, anna))
		want(t, w.Body.String(), `content="0;url=/approvals"`)
		anna.cookies = w.Result().Cookies()
		want(t, anna.page("/approvals"), "anna@acme.example", "approver")
	})
	for name, test := range map[string]struct {
		spoil func(who *person, state string) (query string)
		say   string
	}{
		"a state of somebody else": {func(*person, string) string { return "code=good-code&state=other" }, "not begun in this browser"},
		"a browser that did not begin it": {func(who *person, state string) string {
			who.cookies = nil
			return "code=good-code&state=" + state
		}, "not begun in this browser"},
		"a wrong code":             {func(_ *person, state string) string { return "code=bad&state=" + state }, "did not accept the code"},
		"the provider's refusal":   {func(_ *person, state string) string { return "error=access_denied&state=" + state }, "refused"},
		"a token of another login": {func(_ *person, state string) string { p.nonce = "old"; return "code=good-code&state=" + state }, "not valid"},
		"a token for another client": {func(_ *person, state string) string {
			p.claims = with(good, "aud", "other")
			return "code=good-code&state=" + state
		}, "not valid"},
		"an expired token": {func(_ *person, state string) string {
			p.claims = with(good, "exp", time.Now().Add(-time.Hour).Unix())
			return "code=good-code&state=" + state
		}, "not valid"},
		"nobody in particular": {func(_ *person, state string) string {
			p.claims = with(good, "email", "")
			return "code=good-code&state=" + state
		}, "names you"},
		"somebody without a role": {func(_ *person, state string) string {
			p.claims = with(good, "groups", []string{"staff"})
			return "code=good-code&state=" + state
		}, "no role here"},
		"more roles than are kept": {func(_ *person, state string) string {
			p.claims = with(good, "groups", groups("deed-approvers-%d", 33))
			return "code=good-code&state=" + state
		}, "33 values of your roles claim give rights here, and 32 are taken at most"},
		"a role longer than is kept": {func(_ *person, state string) string {
			p.claims = with(good, "groups", []string{"deed-approvers" + strings.Repeat("x", 256)})
			return "code=good-code&state=" + state
		}, "has 270 bytes, and 256 are taken at most"},
		"a name longer than is kept": {func(_ *person, state string) string {
			p.claims = with(good, "email", strings.Repeat("a", 257))
			return "code=good-code&state=" + state
		}, "has 257 bytes, and 256 are taken at most"},
		"too slow a login": {func(_ *person, state string) string {
			r.clock.Advance(11 * time.Minute)
			return "code=good-code&state=" + state
		}, "took too long"},
	} {
		t.Run(name+" gets no session", func(t *testing.T) {
			who := &person{rig: r}
			w := who.get("/login/callback?" + test.spoil(who, begin(t, who)))
			if w.Code != http.StatusForbidden {
				t.Errorf("HTTP %d", w.Code)
			}
			want(t, w.Body.String(), test.say)
			for _, c := range w.Result().Cookies() {
				if c.Name == "deed_session" {
					t.Error("there is a session")
				}
			}
		})
	}
	t.Run("a login begun at one gateway ends at another, and its session is known to both", func(t *testing.T) {
		there := r.beside(nil)
		anna := &person{rig: r}
		state := begin(t, anna)
		anna.rig = there
		w := anna.get("/login/callback?code=good-code&state=" + state)
		want(t, w.Body.String(), `content="0;url=/approvals"`)
		anna.cookies = w.Result().Cookies()
		for _, anna.rig = range []*rig{r, there} {
			want(t, anna.page("/approvals"), "anna@acme.example", "approver")
		}
	})
	t.Run("a role that is taken away is gone at once, and so is a provider", func(t *testing.T) {
		anna := &person{rig: r}
		anna.cookies = anna.get("/login/callback?code=good-code&state=" + begin(t, anna)).Result().Cookies()
		change := func(change func(*console.OIDC)) func(*console.Options) {
			return func(o *console.Options) {
				other := console.OIDC{
					Issuer: o.OIDC.Issuer, ClientID: o.OIDC.ClientID, RedirectURL: o.OIDC.RedirectURL, Tenant: o.OIDC.Tenant, Rights: o.OIDC.Rights,
				}
				change(&other)
				o.OIDC = &other
			}
		}
		want(t, anna.page("/approvals"), "approver")
		anna.rig = r.beside(change(func(o *console.OIDC) { o.Rights = func([]string) []deed.Right { return []deed.Right{deed.RightRead} } }))
		want(t, anna.page("/approvals"), "viewer", "You may look and not decide")
		for _, anna.rig = range []*rig{
			r.beside(change(func(o *console.OIDC) { o.Rights = func([]string) []deed.Right { return nil } })),
			r.beside(change(func(o *console.OIDC) { o.ClientID = "other" })),
			r.beside(func(o *console.Options) { o.Tokens, o.OIDC = byHash, nil }),
		} {
			if w := anna.get("/approvals"); w.Code != http.StatusSeeOther {
				t.Errorf("HTTP %d", w.Code)
			}
		}
	})
	t.Run("of somebody in thousands of groups only those are kept that count here", func(t *testing.T) {
		anna := &person{rig: r}
		state := begin(t, anna)
		p.claims = with(good, "groups", append(groups("group-%d", 5000), "deed-approvers"))
		anna.cookies = anna.get("/login/callback?code=good-code&state=" + state).Result().Cookies()
		want(t, anna.page("/approvals"), "anna@acme.example", "approver")
		kept, err := r.ledger.Setting(t.Context(), "console/sessions", nil)
		if err != nil || strings.Contains(string(kept), "group-7") || !strings.Contains(string(kept), `"roles":["deed-approvers"]`) {
			t.Errorf("the ledger keeps %d bytes, %v", len(kept), err)
		}
	})
	t.Run("a code is used once", func(t *testing.T) {
		who := &person{rig: r}
		state := begin(t, who)
		who.get("/login/callback?code=good-code&state=" + state)
		want(t, who.get("/login/callback?code=good-code&state="+state).Body.String(), "used before")
	})
}

// groups are n of them, by their numbers.
func groups(format string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, i)
	}
	return list
}

func with(claims map[string]any, name string, value any) map[string]any {
	next := map[string]any{}
	for n, v := range claims {
		next[n] = v
	}
	next[name] = value
	return next
}
