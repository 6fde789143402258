// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"crypto/sha256"
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
		one, ok := c.present(r)
		switch {
		case ok:
			v.who, v.name, v.loggedIn = one.who, one.name, true
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
	token := strings.TrimSpace(r.PostFormValue("token"))
	who, ok := c.byToken(token)
	switch {
	case !ok:
		c.loginForm(w, r, http.StatusForbidden, "This token is not known here.")
		return
	case !who.May(deed.RightRead):
		c.loginForm(w, r, http.StatusForbidden, "This token may not read the ledger. Use one with the right to read.")
		return
	}
	c.enter(w, who, string(who.Actor))
	http.Redirect(w, r, ownPath(r.PostFormValue("next")), http.StatusSeeOther)
}

func (c *Console) byToken(token string) (deed.Principal, bool) {
	if token == "" {
		return deed.Principal{}, false
	}
	if c.Bootstrap != "" && c.Local != nil {
		given, wanted := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(c.Bootstrap))
		if subtle.ConstantTimeCompare(given[:], wanted[:]) == 1 {
			return deed.Principal{Tenant: c.Local.Tenant, Actor: "console:local", Rights: everyRight()}, true
		}
	}
	if c.Tokens == nil {
		return deed.Principal{}, false
	}
	return c.Tokens(token)
}

func (c *Console) enter(w http.ResponseWriter, who deed.Principal, name string) {
	http.SetCookie(w, c.cookie(c.cookieName(), c.sessions.begin(who, name), http.SameSiteStrictMode))
}

func (c *Console) logout(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(c.cookieName()); err == nil {
		c.sessions.finish(cookie.Value)
	}
	gone := c.cookie(c.cookieName(), "", http.SameSiteStrictMode)
	gone.MaxAge = -1
	http.SetCookie(w, gone)
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
