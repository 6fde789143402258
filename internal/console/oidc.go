// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/deed-run/deed"
)

// OIDC lets people log in at an identity provider: OpenID Connect's code flow
// with PKCE (RFC 7636), state and nonce. Issuer, ClientID, RedirectURL and
// Rights are required.
type OIDC struct {
	Issuer       string
	ClientID     string
	ClientSecret string
	// RedirectURL is this console's /login/callback, as the provider knows it.
	RedirectURL string
	// Scopes beside openid.
	Scopes []string
	// ActorClaim names the claim that is the actor; "sub" by default.
	ActorClaim string
	// Tenant is everybody's, or TenantClaim names the claim that is.
	Tenant      deed.Tenant
	TenantClaim string
	// RolesClaim names the claim whose values Rights is asked about; "groups"
	// by default. Whoever gets no right to read does not get in. A value that
	// gives no right by itself is not kept with the session.
	RolesClaim string
	Rights     func(values []string) []deed.Right
	// Label names the provider on the login page.
	Label string
	// Client reaches the provider; http.DefaultClient by default.
	Client *http.Client

	mu       sync.Mutex
	provider *oidc.Provider
}

const (
	// loginFor is how long a login may take, providerPatience each request to
	// the provider.
	loginFor         = 10 * time.Minute
	providerPatience = 15 * time.Second
	loginCookie      = "deed_login"
)

func (o *OIDC) label() string {
	if o.Label != "" {
		return o.Label
	}
	if at, err := url.Parse(o.Issuer); err == nil {
		return at.Host
	}
	return o.Issuer
}

func (o *OIDC) check() error {
	switch {
	case o.Issuer == "", o.ClientID == "", o.RedirectURL == "":
		return errors.New("issuer, client id and redirect URL are all needed")
	case o.Rights == nil:
		return errors.New("no Rights are set: nobody would have any")
	case o.Tenant == "" && o.TenantClaim == "":
		return errors.New("neither Tenant nor TenantClaim is set: nobody would have one")
	}
	return nil
}

// discover reads the provider's description once it is needed, so that a
// provider which is down does not keep the console from starting.
func (o *OIDC) discover(ctx context.Context) (*oidc.Provider, *oauth2.Config, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.provider == nil {
		provider, err := oidc.NewProvider(ctx, o.Issuer)
		if err != nil {
			return nil, nil, err
		}
		o.provider = provider
	}
	scopes := append([]string{oidc.ScopeOpenID}, o.Scopes...)
	slices.Sort(scopes)
	return o.provider, &oauth2.Config{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, RedirectURL: o.RedirectURL,
		Endpoint: o.provider.Endpoint(), Scopes: slices.Compact(scopes),
	}, nil
}

func (o *OIDC) context(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.Client != nil {
		ctx = oidc.ClientContext(ctx, o.Client)
	}
	return context.WithTimeout(ctx, providerPatience)
}

// pending is a login that is under way at the provider. The browser keeps it, so
// that any gateway can finish it, and so that nobody's beginning one costs the
// ledger anything; a browser that changes it harms itself.
type pending struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	Next     string    `json:"next"`
	Begun    time.Time `json:"begun"`
}

// longestNext keeps the cookie of a login short enough for every browser.
const longestNext = 1024

func newPending(next string, now time.Time) pending {
	if len(next) > longestNext {
		next = "/"
	}
	return pending{State: randomText(), Nonce: randomText(), Verifier: oauth2.GenerateVerifier(), Next: next, Begun: now}
}

func (p pending) text() string {
	doc, _ := json.Marshal(p)
	return base64.RawURLEncoding.EncodeToString(doc)
}

func readPending(text string) (pending, bool) {
	var p pending
	doc, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(doc, &p) != nil {
		return pending{}, false
	}
	return p, p.State != "" && p.Nonce != "" && p.Verifier != ""
}

// beginOIDC answers POST /login/oidc: off to the provider. The cookie binds the
// login to this browser; it is lax, for the way back begins elsewhere.
func (c *Console) beginOIDC(w http.ResponseWriter, r *http.Request) {
	if c.OIDC == nil {
		c.loginForm(w, r, http.StatusNotFound, "No identity provider is configured.")
		return
	}
	ctx, cancel := c.OIDC.context(r.Context())
	defer cancel()
	_, config, err := c.OIDC.discover(ctx)
	if err != nil {
		c.loginForm(w, r, http.StatusBadGateway, "The identity provider does not answer. Nobody was logged in.")
		return
	}
	p := newPending(ownPath(r.PostFormValue("next")), c.Clock.Now())
	cookie := c.cookie(c.hostBound(loginCookie), p.text(), http.SameSiteLaxMode)
	cookie.MaxAge = int(loginFor / time.Second)
	http.SetCookie(w, cookie)
	where := config.AuthCodeURL(p.State, oidc.Nonce(p.Nonce), oauth2.S256ChallengeOption(p.Verifier))
	// form-action covers where a form's answer leads to, so that a redirect
	// would be held back; this page goes on by itself.
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = c.pages["onward"].ExecuteTemplate(w, "onward", where)
}

// finishOIDC answers GET /login/callback.
func (c *Console) finishOIDC(w http.ResponseWriter, r *http.Request) {
	if c.OIDC == nil {
		c.loginForm(w, r, http.StatusNotFound, "No identity provider is configured.")
		return
	}
	var p pending
	cookie, err := r.Cookie(c.hostBound(loginCookie))
	ours := err == nil
	if ours {
		p, ours = readPending(cookie.Value)
	}
	if !ours || subtle.ConstantTimeCompare([]byte(p.State), []byte(r.FormValue("state"))) != 1 {
		c.loginForm(w, r, http.StatusForbidden, "This login was not begun in this browser. Nobody was logged in.")
		return
	}
	gone := c.cookie(c.hostBound(loginCookie), "", http.SameSiteLaxMode)
	gone.MaxAge = -1
	http.SetCookie(w, gone)
	if age := c.Clock.Now().Sub(p.Begun); age > loginFor || age < -loginFor {
		c.loginForm(w, r, http.StatusForbidden, "This login took too long. Nobody was logged in.")
		return
	}
	ctx, cancel := c.OIDC.context(r.Context())
	defer cancel()
	known, err := c.OIDC.exchange(ctx, r.FormValue("code"), p)
	if err == nil {
		_, err = c.OIDC.principal(known)
	}
	if err == nil {
		err = c.enter(w, r, session{Identity: &known, State: hashOf(p.State)})
	}
	if err != nil {
		c.loginForm(w, r, http.StatusForbidden, "You were not logged in: "+err.Error()+".")
		return
	}
	// A redirect from here would still count as coming from the provider, and
	// the strict cookie would stay away.
	c.onward(w, ownPath(p.Next))
}

// identity is what a provider said of somebody who logged in, as far as it
// decides anything here.
type identity struct {
	Issuer string   `json:"issuer"`
	Client string   `json:"client"`
	Actor  string   `json:"actor"`
	Tenant string   `json:"tenant,omitempty"`
	Roles  []string `json:"roles,omitempty"`
}

// exchange turns a code into who has logged in. Its errors are for the login
// page and hold nothing that the provider said.
func (o *OIDC) exchange(ctx context.Context, code string, p pending) (identity, error) {
	if code == "" {
		return identity{}, errors.New("the identity provider refused")
	}
	provider, config, err := o.discover(ctx)
	if err != nil {
		return identity{}, errors.New("the identity provider does not answer")
	}
	token, err := config.Exchange(ctx, code, oauth2.VerifierOption(p.Verifier))
	if err != nil {
		return identity{}, errors.New("the identity provider did not accept the code")
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := provider.Verifier(&oidc.Config{ClientID: o.ClientID}).Verify(ctx, raw)
	if err != nil || subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(p.Nonce)) != 1 {
		return identity{}, errors.New("the identity token is not valid")
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return identity{}, errors.New("the identity token cannot be read")
	}
	return o.identity(claims).bounded()
}

const (
	// longestClaim and mostRoles bound what a session keeps of an identity token:
	// the ledger holds all sessions as one value.
	longestClaim = 256
	mostRoles    = 32
)

// bounded refuses an identity that is too long to be kept.
func (i identity) bounded() (identity, error) {
	for _, claim := range append([]string{i.Actor, i.Tenant}, i.Roles...) {
		if len(claim) > longestClaim {
			return identity{}, fmt.Errorf("a claim of the identity token that names you, your tenant or a role of yours has %d bytes, and %d are taken at most", len(claim), longestClaim)
		}
	}
	if len(i.Roles) > mostRoles {
		return identity{}, fmt.Errorf("%d values of your roles claim give rights here, and %d are taken at most: give roles to fewer groups", len(i.Roles), mostRoles)
	}
	return i, nil
}

func (o *OIDC) identity(claims map[string]any) identity {
	claim := func(name, otherwise string) any {
		if name == "" {
			name = otherwise
		}
		return claims[name]
	}
	actor, _ := claim(o.ActorClaim, "sub").(string)
	tenant, _ := claim(o.TenantClaim, "").(string)
	// People are in many groups of which few mean anything here.
	roles := slices.DeleteFunc(valuesOf(claim(o.RolesClaim, "groups")), func(value string) bool { return len(o.Rights([]string{value})) == 0 })
	return identity{Issuer: o.Issuer, Client: o.ClientID, Actor: actor, Tenant: tenant, Roles: roles}
}

// principal says who somebody is here, by the configuration as it is now.
func (o *OIDC) principal(known identity) (deed.Principal, error) {
	who := deed.Principal{Tenant: o.Tenant, Actor: deed.Actor(known.Actor), Rights: o.Rights(known.Roles)}
	if who.Tenant == "" {
		who.Tenant = deed.Tenant(known.Tenant)
	}
	switch {
	case known.Issuer != o.Issuer || known.Client != o.ClientID:
		return who, errors.New("you logged in at another identity provider")
	case who.Actor == "":
		return who, errors.New("the identity token has no claim that names you")
	case who.Tenant == "":
		return who, errors.New("the identity token has no claim that names your tenant")
	case !who.May(deed.RightRead):
		return who, errors.New("you have no role here; ask for one")
	}
	return who, nil
}

func valuesOf(claim any) []string {
	switch claim := claim.(type) {
	case string:
		return []string{claim}
	case []any:
		var list []string
		for _, one := range claim {
			if text, ok := one.(string); ok {
				list = append(list, text)
			}
		}
		return list
	}
	return nil
}
