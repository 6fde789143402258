// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/console"
	"github.com/deed-run/deed/test/installed"
)

// realProvider starts npm's oidc-provider, a certified OpenID provider, and
// returns its issuer. Some of the people have groups.
func realProvider(t *testing.T, redirect string) string {
	t.Helper()
	groups, err := json.Marshal(map[string][]string{"anna": {"staff", "deed-approvers"}, "vera": {"deed-viewers"}, "mallory": {"staff"}})
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(installed.Node(t), "testdata/provider.mjs", installed.Script(t, "oidc-provider", "lib", "index.js"), redirect, string(groups))
	var complaints strings.Builder
	command.Stderr = &complaints
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	issuer, err := lines.ReadString('\n')
	rest := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		close(rest)
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-rest
		_ = command.Wait() // it was killed
		if t.Failed() {
			t.Logf("the provider says %s", complaints.String())
		}
	})
	if err != nil {
		t.Fatalf("the provider did not start: %v", err)
	}
	return strings.TrimSpace(issuer)
}

// TestLoggingInAtARealProvider goes through Chromium and a provider of another
// site, so that the browser itself judges the cookies and the way back.
func TestLoggingInAtARealProvider(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	redirect := "http://" + listener.Addr().String() + "/login/callback"
	issuer := realProvider(t, redirect)
	r := newRig(t, func(o *console.Options) {
		o.Tokens = nil
		o.OIDC = &console.OIDC{
			Issuer: issuer, ClientID: "console", ClientSecret: "the-secret-of-the-console", RedirectURL: redirect, Scopes: []string{"email", "groups"},
			Tenant: "acme", ActorClaim: "email", Label: "Acme",
			Rights: func(values []string) []deed.Right {
				switch {
				case slices.Contains(values, "deed-approvers"):
					return []deed.Right{deed.RightRead, deed.RightApprove}
				case slices.Contains(values, "deed-viewers"):
					return []deed.Right{deed.RightRead}
				}
				return nil
			},
		}
	})
	s := r.scene()
	b := browseAt(t, r, listener)
	whole := b.t
	step := func(name string, do func(*testing.T)) {
		t.Run(name, func(t *testing.T) {
			b.t = t
			defer func() { b.t = whole }()
			do(t)
		})
	}
	away := func(path string) {
		b.open(path)
		b.until(`location.pathname == "/login" && document.querySelector('form[action="/login/oidc"] button')`)
		b.do(chromedp.Click(chromedp.CSS(`form[action="/login/oidc"] button`)))
	}
	give := func(name string) {
		b.until(`location.hostname == "localhost" && document.querySelector("input[name=login]")`)
		b.do(chromedp.SendKeys(chromedp.CSS("input[name=login]"), name), chromedp.SendKeys(chromedp.CSS("input[name=password]"), "any"), chromedp.Submit(chromedp.CSS("input[name=login]")))
		b.until(`document.querySelector("input[name=prompt][value=consent]")`)
		b.do(chromedp.Submit(chromedp.CSS("input[name=prompt]")))
	}
	forget := func() {
		b.do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
			_, err := chromedp.Call(ctx, network.ClearBrowserCookies, cdp.Empty{})
			return chromedp.Void{}, err
		})
	}
	home := `location.hostname == "127.0.0.1" && document.readyState == "complete" && `
	at := "/op/" + string(s.waits)

	step("an approver comes back to the page that was asked for, and decides", func(t *testing.T) {
		away(at)
		give("anna")
		b.until(home + `location.pathname == "` + at + `" && document.body.innerText.includes("anna@acme.example")`)
		b.do(chromedp.Submit(chromedp.CSS("#approve [name=reason]")))
		b.until(`document.body.innerText.includes("Approved. It is sent at most once.")`)
		op, err := r.rt.Get(t.Context(), people["viewer-token"], s.waits)
		if err != nil || op.Status != deed.StatusAuthorized || op.Approval.Votes[0].Approver != "anna@acme.example" {
			t.Errorf("%+v, %v", op, err)
		}
	})
	step("logging out ends the session and not only the cookie", func(t *testing.T) {
		cookies, err := chromedp.Run(b.ctx, func(ctx context.Context, _ *chromedp.Target) ([]*network.Cookie, error) {
			got, err := chromedp.Call(ctx, network.GetCookies, network.GetCookiesParams{URLs: []string{b.url}})
			return got.Cookies, err
		})
		if err != nil {
			t.Fatal(err)
		}
		old := &person{rig: r}
		for _, c := range cookies {
			old.cookies = append(old.cookies, &http.Cookie{Name: c.Name, Value: c.Value})
		}
		want(t, old.page("/approvals"), "anna@acme.example")
		b.do(chromedp.Click(chromedp.CSS(`form[action="/logout"] button`)))
		b.until(`location.pathname == "/login"`)
		if w := old.get("/approvals"); w.Code != 303 {
			t.Errorf("a copy of the cookie is still good: HTTP %d", w.Code)
		}
		b.open("/approvals")
		b.until(`location.pathname == "/login"`)
	})
	step("who is logged in at the provider comes in at once", func(t *testing.T) {
		away("/uncertain")
		b.until(home + `location.pathname == "/uncertain" && document.body.innerText.includes("anna@acme.example")`)
	})
	step("a viewer looks and does not decide", func(t *testing.T) {
		forget()
		away("/op/" + string(s.hostile))
		give("vera")
		b.until(home + `document.body.innerText.includes("vera@acme.example") && document.body.innerText.includes("You may look and not decide")`)
		if ask[bool](b, `!!document.querySelector("#approve")`) {
			t.Error("there is a form to approve with")
		}
	})
	step("who has no role does not get in", func(t *testing.T) {
		forget()
		away("/")
		give("mallory")
		b.until(home + `document.body.innerText.includes("you have no role here; ask for one")`)
		b.open("/")
		b.until(`location.pathname == "/login"`)
	})
	step("who turns back at the provider is not logged in", func(t *testing.T) {
		forget()
		away("/")
		b.until(`location.hostname == "localhost" && document.querySelector("a[href$='/abort']")`)
		b.do(chromedp.Click(chromedp.CSS("a[href$='/abort']")))
		b.until(home + `document.body.innerText.includes("the identity provider refused")`)
	})
	if said := b.complaints(); len(said) > 0 {
		t.Errorf("the browser says %q", said)
	}
}
