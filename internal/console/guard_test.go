// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/console"
)

func TestEveryAnswerCarriesThePolicy(t *testing.T) {
	r := newRig(t, nil)
	op := r.proposal(t)
	vera := r.as("viewer-token")
	for _, path := range []string{"/", "/ledger", "/op/" + string(op.ID), "/op/none", "/nowhere", "/login", "/assets/console.css", "/assets/none.js", "/export?format=csv"} {
		w := vera.get(path)
		policy := w.Header().Get("Content-Security-Policy")
		for _, rule := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
			if !strings.Contains(policy, rule) {
				t.Errorf("%s: the policy %q has no %s", path, policy, rule)
			}
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s may be sniffed", path)
		}
		body := w.Body.String()
		for _, inline := range []string{"<style", " style=", "<script>", " onclick=", " onload=", "javascript:"} {
			if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") && strings.Contains(body, inline) {
				t.Errorf("%s has %q in it", path, inline)
			}
		}
	}
}

func TestForeignRequestsChangeNothing(t *testing.T) {
	r := newRig(t, func(o *console.Options) { o.Hosts = []string{"deed.example"} })
	op := r.proposal(t)
	anna := r.as("approver-token")
	form := url.Values{"digest": {string(op.Approval.Digest)}}.Encode()
	for _, test := range []struct {
		name   string
		change func(*http.Request)
		code   int
	}{
		{"from another site", func(q *http.Request) { q.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"from another origin of the site", func(q *http.Request) { q.Header.Set("Sec-Fetch-Site", "same-site") }, 403},
		{"from another origin by an old browser", func(q *http.Request) { q.Header.Set("Origin", "https://evil.example") }, 403},
		{"under a name that points here", func(q *http.Request) { q.Host = "evil.example:7391" }, 403},
		{"without a session", func(q *http.Request) { q.Header.Del("Cookie") }, 401},
		{"with a forged session", func(q *http.Request) { q.Header.Set("Cookie", "deed_session=AAAA.BBBB") }, 401},
		{"under its own name", func(q *http.Request) { q.Host = "deed.example"; q.Header.Set("Sec-Fetch-Site", "same-origin") }, 303},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := httptest.NewRequest("POST", "/op/"+string(op.ID)+"/approve", strings.NewReader(form))
			q.Host = "localhost"
			q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			for _, c := range anna.cookies {
				q.AddCookie(c)
			}
			test.change(q)
			w := httptest.NewRecorder()
			r.console.ServeHTTP(w, q)
			if w.Code != test.code {
				t.Errorf("HTTP %d, want %d: %s", w.Code, test.code, w.Body)
			}
			if got := r.status(op.ID); (got == deed.StatusAuthorized) != (test.code == 303) {
				t.Errorf("it is %s", got)
			}
		})
	}
}

func TestSessions(t *testing.T) {
	r := newRig(t, nil)
	t.Run("the cookie is for this origin and no script", func(t *testing.T) {
		c := r.as("viewer-token").cookies[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" {
			t.Errorf("%+v", c)
		}
		secure := newRig(t, func(o *console.Options) { o.Secure = true })
		if c := secure.as("viewer-token").cookies[0]; !c.Secure || c.Name != "__Host-deed_session" {
			t.Errorf("%+v", c)
		}
	})
	t.Run("an unknown token and one that may not read get none", func(t *testing.T) {
		for token, say := range map[string]string{"wrong": "not known here", "": "not known here", "agent-token": "may not read the ledger"} {
			p := &person{rig: r}
			w := p.post("/login", url.Values{"token": {token}})
			if w.Code != http.StatusForbidden || len(w.Result().Cookies()) > 0 {
				t.Errorf("%q: HTTP %d", token, w.Code)
			}
			want(t, w.Body.String(), say)
		}
	})
	t.Run("it ends when it was not used, and by age", func(t *testing.T) {
		vera := r.as("viewer-token")
		r.clock.Advance(59 * time.Minute)
		vera.page("/")
		r.clock.Advance(61 * time.Minute)
		if w := vera.get("/"); w.Code != http.StatusSeeOther || !strings.HasPrefix(w.Header().Get("Location"), "/login?next=%2F") {
			t.Errorf("HTTP %d to %s", w.Code, w.Header().Get("Location"))
		}
		vera = r.as("viewer-token")
		for range 7 {
			r.clock.Advance(10 * time.Minute)
			q := httptest.NewRequest("GET", "/", nil)
			q.Header.Set("HX-Request", "true")
			vera.send(q)
		}
		if w := vera.get("/"); w.Code != http.StatusSeeOther {
			t.Errorf("a page that reloads itself kept the session: HTTP %d", w.Code)
		}
		vera = r.as("viewer-token")
		for range 13 {
			r.clock.Advance(55 * time.Minute)
			vera.get("/")
		}
		r.clock.Advance(10 * time.Minute)
		if w := vera.get("/"); w.Code != http.StatusSeeOther {
			t.Errorf("after 12 hours: HTTP %d", w.Code)
		}
	})
	t.Run("logging out ends it here, whatever the browser keeps", func(t *testing.T) {
		vera := r.as("viewer-token")
		vera.post("/logout", nil)
		if w := vera.get("/"); w.Code != http.StatusSeeOther {
			t.Errorf("HTTP %d", w.Code)
		}
	})
	t.Run("there are at most a thousand", func(t *testing.T) {
		r := newRig(t, func(o *console.Options) { o.Sessions = nil })
		first := r.as("viewer-token")
		r.clock.Advance(time.Second)
		for range 1000 {
			r.as("viewer-token")
		}
		if w := first.get("/"); w.Code != http.StatusSeeOther {
			t.Errorf("HTTP %d", w.Code)
		}
	})
	t.Run("the place to go on to is one of ours", func(t *testing.T) {
		for next, place := range map[string]string{"/ledger?status=failed": "/ledger?status=failed", "//evil.example": "/", "https://evil.example/": "/", `/\evil.example`: "/", "/a\nb": "/"} {
			w := (&person{rig: r}).post("/login", url.Values{"token": {"viewer-token"}, "next": {next}})
			if got := w.Header().Get("Location"); got != place {
				t.Errorf("%q goes to %q, want %q", next, got, place)
			}
		}
	})
	t.Run("a link from elsewhere finds the session again", func(t *testing.T) {
		q := httptest.NewRequest("GET", "/approvals", nil)
		q.Header.Set("Sec-Fetch-Site", "cross-site")
		q.Header.Set("Sec-Fetch-Mode", "navigate")
		w := (&person{rig: r}).send(q)
		want(t, w.Body.String(), `content="0;url=/approvals"`)
	})
}

func TestWithoutAuthenticationItOnlyReads(t *testing.T) {
	const bootstrap = "a-token-that-the-process-printed-when-it-started"
	r := newRig(t, func(o *console.Options) {
		o.Tokens, o.Local, o.Bootstrap = nil, &deed.Principal{Tenant: "acme", Actor: "support-agent", Rights: []deed.Right{deed.RightCall, deed.RightRead, deed.RightApprove, deed.RightResolve}}, bootstrap
	})
	waits := r.proposal(t)
	doubt := r.call(refund, "refund:order-1:first", `{"order_id":"1","amount":1}`, unknown()).Operation
	anybody := &person{rig: r}
	want(t, anybody.page("/"), "No authentication is configured.", "log in with the token that the process printed")
	want(t, anybody.page("/op/"+string(waits.ID)), "You may look and not decide")
	for _, form := range []struct {
		path string
		body url.Values
	}{
		{"/op/" + string(waits.ID) + "/approve", url.Values{"digest": {string(waits.Approval.Digest)}}},
		{"/op/" + string(waits.ID) + "/deny", url.Values{"digest": {string(waits.Approval.Digest)}, "reason": {"no"}}},
		{"/op/" + string(waits.ID) + "/cancel", url.Values{"reason": {"no"}}},
		{"/op/" + string(doubt.ID) + "/resolve", url.Values{"outcome": {"committed"}, "reason": {"so"}}},
		{"/op/" + string(doubt.ID) + "/probe", nil},
		{"/approvals/approve", url.Values{"decide": {fmt.Sprintf("%s %s", waits.ID, waits.Approval.Digest)}}},
	} {
		if w := anybody.post(form.path, form.body); w.Code != http.StatusForbidden {
			t.Errorf("%s: HTTP %d", form.path, w.Code)
		}
	}
	if r.status(waits.ID) != deed.StatusAwaitingApproval || r.status(doubt.ID) != deed.StatusUncertain {
		t.Fatal("something was decided")
	}
	q := httptest.NewRequest("GET", "/", nil)
	q.RemoteAddr = "198.51.100.7:4000"
	if w := anybody.send(q); w.Code != http.StatusForbidden {
		t.Errorf("another machine: HTTP %d", w.Code)
	}
	q = httptest.NewRequest("GET", "/", nil)
	q.RemoteAddr = "127.0.0.1:4000"
	q.Header.Set("X-Forwarded-For", "198.51.100.7")
	if w := anybody.send(q); w.Code != http.StatusForbidden {
		t.Errorf("another machine by way of a proxy: HTTP %d", w.Code)
	}
	owner := r.as(bootstrap)
	want(t, owner.page("/"), "console:local", "admin")
	if w := owner.post("/op/"+string(waits.ID)+"/approve", url.Values{"digest": {string(waits.Approval.Digest)}}); w.Code != http.StatusSeeOther {
		t.Errorf("with the token: HTTP %d: %s", w.Code, w.Body)
	}
}

func TestNewSaysWhatIsMissing(t *testing.T) {
	r := newRig(t, nil)
	tokens := r.options.Tokens
	for name, change := range map[string]func(*console.Options){
		"Runtime is not set":       func(o *console.Options) { o.Runtime = nil },
		"Tokens, OIDC and Local":   func(o *console.Options) { o.Tokens = nil },
		"Local is for use without": func(o *console.Options) { o.Local = &deed.Principal{} },
		"back door":                func(o *console.Options) { o.Bootstrap = strings.Repeat("x", 40) },
		"could be guessed":         func(o *console.Options) { o.Tokens, o.Local, o.Bootstrap = nil, &deed.Principal{}, "short" },
		"{trace}":                  func(o *console.Options) { o.TraceURL = "https://traces.example/{trace}" },
		"does not begin with":      func(o *console.Options) { o.TraceURL = "javascript:alert(1)" },
		"OIDC":                     func(o *console.Options) { o.Tokens, o.OIDC = tokens, &console.OIDC{} },
	} {
		o := r.options
		change(&o)
		if _, err := console.New(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want one about %q", err, name)
		}
	}
}

func TestTheThemeIsRemembered(t *testing.T) {
	r := newRig(t, nil)
	vera := r.as("viewer-token")
	want(t, vera.page("/"), `data-theme="auto"`, `content="light dark"`)
	w := vera.post("/theme", url.Values{"theme": {"dark"}, "next": {"/ledger"}})
	vera.cookies = append(vera.cookies, w.Result().Cookies()...)
	want(t, vera.page("/ledger"), `data-theme="dark"`, `<meta name="color-scheme" content="dark">`)
}
