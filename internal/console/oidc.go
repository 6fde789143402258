// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"crypto/subtle"
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
	// by default. Whoever gets no right to read does not get in.
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
	maxLogins        = 1000
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

// pending is a login that is under way at the provider.
type pending struct {
	nonce    string
	verifier string
	next     string
	begun    time.Time
}

// logins are those under way, by their state. Each is used once.
type logins struct {
	clock deed.Clock
	mu    sync.Mutex
	open  map[string]pending
}

func newLogins(clock deed.Clock) *logins { return &logins{clock: clock, open: map[string]pending{}} }

func (l *logins) begin(next string) (state string, p pending) {
	now := l.clock.Now()
	state, p = randomText(), pending{nonce: randomText(), verifier: oauth2.GenerateVerifier(), next: next, begun: now}
	l.mu.Lock()
	defer l.mu.Unlock()
	var oldest string
	for name, one := range l.open {
		if now.Sub(one.begun) > loginFor {
			delete(l.open, name)
		} else if oldest == "" || one.begun.Before(l.open[oldest].begun) {
			oldest = name
		}
	}
	if len(l.open) >= maxLogins {
		delete(l.open, oldest)
	}
	l.open[state] = p
	return state, p
}

func (l *logins) take(state string) (pending, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.open[state]
	delete(l.open, state)
	return p, ok && l.clock.Now().Sub(p.begun) <= loginFor
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
	state, p := c.logins.begin(ownPath(r.PostFormValue("next")))
	cookie := c.cookie(loginCookie, state, http.SameSiteLaxMode)
	cookie.MaxAge = int(loginFor / time.Second)
	http.SetCookie(w, cookie)
	where := config.AuthCodeURL(state, oidc.Nonce(p.nonce), oauth2.S256ChallengeOption(p.verifier))
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
	state := r.FormValue("state")
	cookie, err := r.Cookie(loginCookie)
	if err != nil || subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(state)) != 1 {
		c.loginForm(w, r, http.StatusForbidden, "This login was not begun in this browser. Nobody was logged in.")
		return
	}
	gone := c.cookie(loginCookie, "", http.SameSiteLaxMode)
	gone.MaxAge = -1
	http.SetCookie(w, gone)
	p, ok := c.logins.take(state)
	if !ok {
		c.loginForm(w, r, http.StatusForbidden, "This login took too long or was used before. Nobody was logged in.")
		return
	}
	ctx, cancel := c.OIDC.context(r.Context())
	defer cancel()
	who, err := c.OIDC.exchange(ctx, r.FormValue("code"), p)
	if err != nil {
		c.loginForm(w, r, http.StatusForbidden, "You were not logged in: "+err.Error()+".")
		return
	}
	c.enter(w, who, string(who.Actor))
	// A redirect from here would still count as coming from the provider, and
	// the strict cookie would stay away.
	c.onward(w, p.next)
}

// exchange turns a code into who has logged in. Its errors are for the login
// page and hold nothing that the provider said.
func (o *OIDC) exchange(ctx context.Context, code string, p pending) (deed.Principal, error) {
	if code == "" {
		return deed.Principal{}, errors.New("the identity provider refused")
	}
	provider, config, err := o.discover(ctx)
	if err != nil {
		return deed.Principal{}, errors.New("the identity provider does not answer")
	}
	token, err := config.Exchange(ctx, code, oauth2.VerifierOption(p.verifier))
	if err != nil {
		return deed.Principal{}, errors.New("the identity provider did not accept the code")
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := provider.Verifier(&oidc.Config{ClientID: o.ClientID}).Verify(ctx, raw)
	if err != nil || subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(p.nonce)) != 1 {
		return deed.Principal{}, errors.New("the identity token is not valid")
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return deed.Principal{}, errors.New("the identity token cannot be read")
	}
	return o.principal(claims)
}

func (o *OIDC) principal(claims map[string]any) (deed.Principal, error) {
	claim := func(name, otherwise string) string {
		if name == "" {
			name = otherwise
		}
		text, _ := claims[name].(string)
		return text
	}
	who := deed.Principal{Tenant: o.Tenant, Actor: deed.Actor(claim(o.ActorClaim, "sub"))}
	if who.Tenant == "" {
		who.Tenant = deed.Tenant(claim(o.TenantClaim, ""))
	}
	roles := o.RolesClaim
	if roles == "" {
		roles = "groups"
	}
	who.Rights = o.Rights(valuesOf(claims[roles]))
	switch {
	case who.Actor == "":
		return who, fmt.Errorf("the identity token has no claim that names you")
	case who.Tenant == "":
		return who, fmt.Errorf("the identity token has no claim that names your tenant")
	case !who.May(deed.RightRead):
		return who, fmt.Errorf("you have no role here; ask for one")
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
