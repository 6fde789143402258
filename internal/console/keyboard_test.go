// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/deed-run/deed"
)

// TestInTheBrowser goes through what a person does, in one browser.
func TestInTheBrowser(t *testing.T) {
	r := newRig(t, nil)
	s := r.scene()
	b := browse(t, r)
	b.enter("operator-token")
	whole := b.t
	key := func(keys string) { b.do(chromedp.KeyEvent(keys)) }
	step := func(name string, do func(*testing.T)) {
		t.Run(name, func(t *testing.T) {
			b.t = t
			defer func() { b.t = whole }()
			do(t)
		})
	}
	focused := func() string {
		return ask[string](b, `(document.activeElement.getAttribute("href") || document.activeElement.id || document.activeElement.textContent || "").trim()`)
	}

	step("j and k go through the rows, Enter opens one", func(t *testing.T) {
		b.open("/ledger")
		key("j")
		key("j")
		second := focused()
		key("j")
		key("k")
		if got := focused(); got != second || !strings.HasPrefix(second, "/op/op_") {
			t.Errorf("j j j k is at %q, want %q", got, second)
		}
		key(kb.Enter)
		b.until(`location.pathname == "` + second + `" && document.readyState == "complete"`)
	})
	step("/ goes to the filter, g l to the ledger, ? to the help", func(t *testing.T) {
		key("g")
		key("l")
		b.until(`location.pathname == "/ledger" && document.readyState == "complete"`)
		key("/")
		if got := focused(); got != "f-text" {
			t.Errorf("/ is at %q", got)
		}
		b.do(chromedp.Blur(chromedp.CSS("#f-text")))
		key("?")
		b.until(`document.querySelector("#help").open`)
		key(kb.Escape)
		b.until(`!document.querySelector("#help").open`)
	})
	step("a asks, and Enter then approves nothing", func(t *testing.T) {
		b.open("/op/" + string(s.waits))
		if focus := ask[string](b, "document.activeElement.tagName"); focus != "BODY" {
			t.Errorf("the page begins with the focus on %s", focus)
		}
		key("a")
		b.until(`document.querySelector("#confirm").open`)
		if got := focused(); got != "Not now" {
			t.Errorf("the dialog begins at %q", got)
		}
		key(kb.Enter)
		b.until(`!document.querySelector("#confirm").open`)
		if got := r.status(s.waits); got != deed.StatusAwaitingApproval {
			t.Fatalf("it is %s", got)
		}
		key("a")
		b.until(`document.querySelector("#confirm").open`)
		key(kb.Tab)
		key(kb.Enter)
		b.until(`document.body.innerText.includes("Approved. It is sent at most once.")`)
		if got := r.status(s.waits); got != deed.StatusAuthorized {
			t.Errorf("it is %s", got)
		}
	})
	step("the filter reloads the list alone and keeps the address", func(t *testing.T) {
		b.open("/ledger")
		ask[bool](b, `(() => { window.kept = true; return true })()`)
		b.do(chromedp.SendKeys(chromedp.CSS("#f-status"), "uncertain"+kb.Enter))
		b.until(`location.search == "?status=uncertain"`)
		b.until(`document.querySelectorAll("#listing tr[data-row]").length == 3`)
		if !ask[bool](b, "!!window.kept") {
			t.Error("the whole page was loaded anew")
		}
		b.do(chromedp.NavigateBack())
		b.until(`location.search == "" && document.querySelectorAll("#listing tr[data-row]").length > 3 && document.querySelector("header.top")`)
	})
	step("what is new is said, and shown when asked", func(t *testing.T) {
		b.open("/ledger")
		r.clock.Advance(time.Second)
		r.call(refund, "refund:order-2000:first", `{"order_id":"2000","amount":1}`, success("re_new"))
		b.tick(`!document.querySelector("#news").hidden && document.querySelector("#news").innerText.includes("1 new")`)
		if ask[bool](b, `document.body.innerText.includes("re_new")`) {
			t.Error("the rows moved by themselves")
		}
		b.do(chromedp.Click(chromedp.CSS("#news a")))
		b.until(`document.body.innerText.includes("re_new")`)
	})
	step("a proposal that others decide stays and says so", func(t *testing.T) {
		b.open("/approvals")
		r.approved(s.tick, "second-token")
		row := `document.querySelector("#row-` + string(s.tick) + `")`
		b.tick(row + ` && ` + row + `.innerText.includes("Decided elsewhere: approved; it is authorized, by ben")`)
		if ask[bool](b, row+`.querySelector("input") !== null`) {
			t.Error("it can still be ticked")
		}
	})
	step("an uncertain operation is resolved by the form", func(t *testing.T) {
		b.open("/op/" + string(s.doubt))
		b.do(chromedp.SendKeys(chromedp.CSS("#remote"), "re_seen"), chromedp.SendKeys(chromedp.CSS("#reason-1"), "seen in the dashboard"), chromedp.Submit(chromedp.CSS("#reason-1")))
		b.until(`document.body.innerText.includes("Recorded: it happened.")`)
	})
	step("hostile text does not run", func(t *testing.T) {
		b.open("/op/" + string(s.hostile))
		if ask[bool](b, `"owned" in window || document.querySelectorAll("main img, main script").length > 0`) {
			t.Error("it ran")
		}
		if got := ask[float64](b, `document.querySelectorAll("#approval .payload .mark").length`); got < 8 {
			t.Errorf("%v marks", got)
		}
	})
	step("an argument of a mebibyte is opened quickly enough to be read", func(t *testing.T) {
		long := r.call(payout, "payout:long:first-one", `{"note":"`+strings.Repeat("ab\u202e ", 170_000)+`"}`, nil).Operation
		b.open("/op/" + string(long.ID))
		if got := ask[float64](b, "document.documentElement.outerHTML.length"); got > 4<<20 {
			t.Errorf("the page has %v characters", got)
		}
		if !ask[bool](b, `document.body.innerText.includes("Only the beginning is shown.")`) {
			t.Error("it does not say that it shows the beginning")
		}
	})
	step("another site's form is refused", func(t *testing.T) {
		b.open("/approvals")
		b.do(chromedp.Navigate(`data:text/html,<form method=post action="` + b.url + `/op/` + string(s.hostile) + `/deny"><input name=digest value=x><input name=reason value=y></form><script>document.forms[0].submit()</script>`))
		b.until(`document.body.innerText.includes("another origin")`)
		if got := r.status(s.hostile); got != deed.StatusAwaitingApproval {
			t.Errorf("it is %s", got)
		}
	})
	if said := b.complaints(); len(said) > 0 {
		for _, text := range said {
			if !strings.Contains(text, "403") {
				t.Errorf("the browser says %q", text)
			}
		}
	}
}

// tick moves the clock, on which live pages wait, until a page says something.
func (b *browser) tick(expression string) {
	b.t.Helper()
	for range 400 {
		if ask[bool](b, "!!("+expression+")") {
			return
		}
		b.clock.Advance(b.options.LookEvery)
		b.do(chromedp.Sleep(20 * time.Millisecond))
	}
	b.t.Fatalf("it never came to %s:\n%s", expression, ask[string](b, "document.body.innerText"))
}

func TestWithoutScripts(t *testing.T) {
	r := newRig(t, nil)
	s := r.scene()
	b := browse(t, r)
	b.scripts(false)
	b.enter("operator-token")

	b.open("/ledger")
	b.do(chromedp.SendKeys(chromedp.CSS("#f-status"), "uncertain"+kb.Enter))
	b.until(`location.search.startsWith("?status=uncertain") && document.querySelectorAll("tr[data-row]").length == 3`)

	b.open("/op/" + string(s.doubt))
	b.do(chromedp.SendKeys(chromedp.CSS("#reason-2"), "not in the list of the provider"), chromedp.Click(chromedp.CSS(`form:has(#reason-2) button`)))
	b.until(`document.body.innerText.includes("Recorded: it did not happen.")`)
	if got := r.status(s.doubt); got != deed.StatusFailed {
		t.Errorf("it is %s", got)
	}

	b.open("/op/" + string(s.waits))
	b.do(chromedp.SendKeys(chromedp.CSS("#why-2"), "ten times the usual amount"), chromedp.Click(chromedp.CSS(`form:has(#why-2) button`)))
	b.until(`document.body.innerText.includes("Denied. Your reason goes to the agent.")`)
	if got := r.status(s.waits); got != deed.StatusDenied {
		t.Errorf("it is %s", got)
	}

	b.open("/approvals")
	b.do(chromedp.Click(chromedp.CSS("#row-"+string(s.tick)+" input")), chromedp.Click(chromedp.CSS(`form[action="/approvals/review"] button`)))
	b.until(`document.querySelector("h1").textContent == "Approve together"`)
	b.do(chromedp.Click(chromedp.CSS(`form[action="/approvals/approve"] button`)))
	b.until(`document.body.innerText.includes(": approved")`)

	b.do(chromedp.Click(chromedp.CSS(`form[action="/logout"] button`)))
	b.until(`location.pathname == "/login"`)
}
