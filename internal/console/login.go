// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// loginPage is what the login page shows.
type loginPage struct {
	Token     bool
	Bootstrap bool
	OIDC      string
	Next      string
	Problem   string
}

// known lets somebody known through to a page and others to the login.
func (c *Console) known(show func(*visit)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := &visit{ResponseWriter: w, Request: r, console: c, now: c.Clock.Now()}
		who, ok, err := c.present(r)
		switch {
		case err != nil:
			c.plain(w, http.StatusServiceUnavailable, "The ledger does not answer, so that it cannot be known who you are. Nothing was changed. Try again.")
			return
		case ok:
			v.who, v.name, v.loggedIn = who, string(who.Actor), true
		case c.Local != nil:
			v.who = deed.Principal{Tenant: c.Local.Tenant, Actor: c.Local.Actor, Rights: []deed.Right{deed.RightRead}}
			v.name = string(c.Local.Actor)
		case r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") == "navigate":
			// A strict cookie stays away when a link in a mail or a chat is
			// followed. A reload by this page is of this site and brings it.
			c.onward(w, r.URL.RequestURI())
			return
		case r.Method != http.MethodGet || r.Header.Get("Accept") == "text/event-stream" || r.Header.Get("HX-Request") != "":
			c.plain(w, http.StatusUnauthorized, "Your session has ended. Nothing was changed. Log in again.")
			return
		default:
			http.Redirect(w, r, "/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
			return
		}
		if v.Method == http.MethodPost {
			if err := v.ParseForm(); err != nil {
				c.plain(w, http.StatusRequestEntityTooLarge, "The form is too long or broken. Nothing was changed.")
				return
			}
		}
		show(v)
	}
}

// onward answers with a page that goes on to a path of this console by itself.
func (c *Console) onward(w http.ResponseWriter, path string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = c.pages["onward"].ExecuteTemplate(w, "onward", ownPath(path))
}

// ownPath keeps a place to go to within this origin.
func ownPath(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return path
}

func (c *Console) showLogin(w http.ResponseWriter, r *http.Request) {
	c.loginForm(w, r, http.StatusOK, "")
}

func (c *Console) loginForm(w http.ResponseWriter, r *http.Request, status int, wrong string) {
	v := &visit{ResponseWriter: w, Request: r, console: c, now: c.Clock.Now()}
	p := loginPage{Token: c.Tokens != nil, Bootstrap: c.Bootstrap != "", Next: ownPath(r.FormValue("next")), Problem: wrong}
	if c.OIDC != nil {
		p.OIDC = c.OIDC.label()
	}
	v.show(status, "login", "Log in", p)
}

// login takes a token and begins a session. It answers alike whatever is wrong
// with the token.
func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		c.plain(w, http.StatusRequestEntityTooLarge, "The form is too long or broken.")
		return
	}
	token := hashOf(strings.TrimSpace(r.PostFormValue("token")))
	who, ok := c.byHash(token)
	switch {
	case !ok:
		c.loginForm(w, r, http.StatusForbidden, "This token is not known here.")
		return
	case !who.May(deed.RightRead):
		c.loginForm(w, r, http.StatusForbidden, "This token may not read the ledger. Use one with the right to read.")
		return
	}
	_ = c.enter(w, r, session{Token: token}) // only logins at a provider are refused
	http.Redirect(w, r, ownPath(r.PostFormValue("next")), http.StatusSeeOther)
}

// byHash finds whose token has a SHA-256.
func (c *Console) byHash(sum string) (deed.Principal, bool) {
	if c.Bootstrap != "" && c.Local != nil && subtle.ConstantTimeCompare([]byte(sum), []byte(hashOf(c.Bootstrap))) == 1 {
		return deed.Principal{Tenant: c.Local.Tenant, Actor: "console:local", Rights: everyRight()}, true
	}
	if c.Tokens == nil || sum == hashOf("") {
		return deed.Principal{}, false
	}
	return c.Tokens(sum)
}

// enter begins a session. One that this browser had ends: nobody is left logged
// in behind somebody else's back.
func (c *Console) enter(w http.ResponseWriter, r *http.Request, one session) error {
	if before, err := r.Cookie(c.cookieName()); err == nil {
		_ = c.sessions.finish(r.Context(), before.Value) // it ends by itself otherwise
	}
	value, err := c.sessions.begin(r.Context(), one)
	if err == nil {
		http.SetCookie(w, c.cookie(c.cookieName(), value, http.SameSiteStrictMode))
	}
	return err
}

// logout ends the session. Where the ledger does not take that, the browser
// forgets it at least, and is told.
func (c *Console) logout(w http.ResponseWriter, r *http.Request) {
	var err error
	if cookie, none := r.Cookie(c.cookieName()); none == nil {
		err = c.sessions.finish(r.Context(), cookie.Value)
	}
	gone := c.cookie(c.cookieName(), "", http.SameSiteStrictMode)
	gone.MaxAge = -1
	http.SetCookie(w, gone)
	if err != nil {
		c.plain(w, http.StatusServiceUnavailable, "This browser has forgotten the session. The ledger did not take its end: a copy of the cookie would be good for up to an hour.")
		return
	}
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// theme remembers light, dark or neither; the server writes it into the page,
// so that no page is shown in the wrong one first.
func (c *Console) theme(w http.ResponseWriter, r *http.Request) {
	choice := c.cookie("deed_theme", themeOf(r.PostFormValue("theme")), http.SameSiteStrictMode)
	choice.Expires = time.Now().AddDate(1, 0, 0)
	http.SetCookie(w, choice)
	http.Redirect(w, r, ownPath(r.PostFormValue("next")), http.StatusSeeOther)
}

func themeOf(word string) string {
	if word == "light" || word == "dark" {
		return word
	}
	return "auto"
}
