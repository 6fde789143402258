// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"strings"
	"testing"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

// falseReports are the failures in which an unknown outcome was told as a known
// one. Each row is a way in which a transport fails.
func falseReports() []story {
	sent := func(kind provider.FaultKind) func(w *world) {
		return func(w *world) {
			w.misbehave(kind)
			w.unknownOutcome()
			w.counted("order-1", 1, 1)
		}
	}
	over := func(url bool) setup {
		return setup{tools: business(), url: url, command: !url}
	}
	silent := func(url bool) setup {
		s := over(url)
		s.defaults = map[string]any{"timeout": "1s", "late": "1s"}
		return s
	}
	rows := []story{
		{id: "L05 refused connection", setup: over(true), play: l05Refused},
		{id: "L05 connection closed after the effect", setup: over(true), play: sent(provider.CommitDrop), agent: l05Agent},
		{id: "L05 answer cut in the middle", setup: over(true), play: sent(provider.HalfJSON)},
		{id: "L05 no answer in time", setup: silent(true), play: sent(provider.CommitHang)},
		{id: "L05 503 after the effect", setup: over(true), play: sent(provider.Commit5xx)},
		{id: "L05 404 after the effect", setup: over(true), play: sent(provider.Commit404)},
		{id: "L05 a page in place of the answer", setup: over(true), play: sent(provider.Garbage)},
		{id: "L05 server exits after the effect", setup: over(false), play: sent(provider.CommitDrop), only: overMCP},
		{id: "L05 line cut in the middle", setup: over(false), play: sent(provider.HalfJSON), only: overMCP},
		{id: "L05 server never answers", setup: silent(false), play: sent(provider.CommitHang), only: overMCP},
	}
	for i := range rows {
		rows[i].rotates = true
	}
	return rows
}

func l05Refused(w *world) {
	w.misbehave(provider.RefuseConn)
	step := w.call(charge("charge:order-1:first", "order-1", 100), failed+":not_sent")
	w.verdict(step)
	if _, again := toldToRepeat(step.Result.Texts); !again {
		w.Errorf("it is safe to repeat, and the text does not say so: %q", step.Result.Texts)
	}
	w.counted("order-1", 0, 0)
	w.must(w.fixture.Release(w.Context(), ""))
}

func l05Agent(w *world, a agent) {
	w.misbehave(provider.CommitDrop)
	w.leftUnconfirmed(w.pursue(a, orderIntent("order-1")))
	w.counted("order-1", 1, 1)
}

// unknownOutcome makes a call whose outcome nobody can know, and the same again.
func (w *world) unknownOutcome() {
	w.Helper()
	call := charge("charge:order-1:first", "order-1", 100)
	for _, want := range []string{unknown, uncertain} {
		step := w.call(call, want)
		w.verdict(step)
		text := strings.ToLower(strings.Join(step.Result.Texts, " "))
		for _, lure := range []string{"try again", "call again", "rerun", "safe to retry", "retry"} {
			if strings.Contains(text, lure) {
				w.Errorf("the text of an unknown outcome says %q: %q", lure, text)
			}
		}
	}
}

// TestAProviderThatCannotBeReachedWasNotSentAnything covers the failures before
// any byte, where there is no provider at all. It has no list of tools either.
func TestAProviderThatCannotBeReachedWasNotSentAnything(t *testing.T) {
	for name, upstream := range map[string]map[string]any{
		"a name that resolves to nothing": {"url": "http://provider.invalid/mcp"},
		"TLS where none is spoken":        {"url": "TLS"},
		"a command that does not exist":   {"command": []any{"/nonexistent/server"}},
	} {
		for _, d := range doors() {
			if !d.mcp() || !d.stdio() && !d.modern() {
				continue
			}
			t.Run("L05/"+name+"/"+d.name, func(t *testing.T) {
				t.Parallel()
				unreached(t, d, upstream)
			})
		}
	}
}

func unreached(t *testing.T, d door, upstream map[string]any) {
	// The handshake of the older era goes to the provider, so only a client
	// without one gets as far as a call.
	d.version = caller.Modern
	w := prepare(t, place{door: d, ledger: inSQLite}, setup{tools: business(), upstream: upstream})
	if upstream["url"] == "TLS" {
		w.reconfigure(map[string]any{"url": strings.Replace(w.fixture.MCP, "http:", "https:", 1)})
	}
	w.start()
	step := w.call(charge("charge:order-1:first", "order-1", 100), failed+":not_sent")
	if _, again := toldToRepeat(step.Result.Texts); !again {
		w.Errorf("it is safe to repeat, and the text does not say so: %q", step.Result.Texts)
	}
	w.counted("order-1", 0, 0)
}
