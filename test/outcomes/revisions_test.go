// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcomes_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/faultkit"
)

// overBoth runs a test with the tools of an MCP server and with those of a
// connector.
func overBoth(t *testing.T, test func(*testing.T, transport)) {
	t.Helper()
	for _, by := range []transport{byURL, byConnector} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			test(t, by)
		})
	}
}

// approve consents to what waits under the key.
func (g *gateway) approve(key string) {
	g.Helper()
	var shown struct {
		Approval struct {
			Digest string `json:"digest"`
		} `json:"approval"`
	}
	id := string(g.operations()[key].ID)
	g.must(json.Unmarshal(g.deed("ops", "show", id, "--json"), &shown))
	g.deed("ops", "approve", id, "--digest", shown.Approval.Digest)
}

// TestANewerLetterNeverGoesOutUnderAnOldApproval has somebody edit what a person
// has consented to.
func TestANewerLetterNeverGoesOutUnderAnOldApproval(t *testing.T) {
	overBoth(t, func(t *testing.T, by transport) {
		provider := newShop(t)
		g := newGateway(t, faultkit.HTTP, "shop", provider.behind(by, map[string]any{
			"shop/get_letter": map[string]any{"effect": "read_only"},
			"shop/send_letter": map[string]any{
				"effect": "non_idempotent", "approval": map[string]any{"run": "on_call"},
				"revision": map[string]any{"tool": "shop/get_letter", "value": "/structuredContent/revision"},
			},
		}))
		g.start()
		const key = "letter:order-1042:first"
		send := func(key string) note { return g.call("send_letter", key, map[string]any{"to": "customer"}) }
		if asked := send(key); asked.Decision != "awaiting_approval" {
			t.Fatalf("asked: %s", asked)
		}
		g.approve(key)
		provider.edit("r2")
		for range 2 {
			if stale := send(key); stale.Decision != "denied" || stale.Reason != "revision_changed" || stale.Status != "authorized" {
				t.Errorf("after an edit: %s", stale)
			}
		}
		g.kill()
		g.start()
		if stale := send(key); stale.Decision != "denied" || stale.Reason != "revision_changed" {
			t.Errorf("after a restart: %s", stale)
		}
		if _, sent := provider.count(); sent != "[]" {
			t.Fatalf("sent %s under the approval of another revision", sent)
		}
		// What is there now takes a consent of its own.
		const next = "letter:order-1042:second"
		if asked := send(next); asked.Decision != "awaiting_approval" {
			t.Fatalf("the newer letter: %s", asked)
		}
		g.approve(next)
		if done := send(next); done.Status != "committed" {
			t.Errorf("approved as it is: %s", done)
		}
		provider.edit("r3")
		if again := send(next); again.Decision != "replay" {
			t.Errorf("asked again after the next edit: %s", again)
		}
		if stale := send(key); stale.Decision != "denied" {
			t.Errorf("the old approval at the end: %s", stale)
		}
		if _, sent := provider.count(); sent != "[r2]" {
			t.Errorf("sent %s", sent)
		}
	})
}

// TestWhatWasCreatedIsReadBack says of a repetition what became of the thing.
func TestWhatWasCreatedIsReadBack(t *testing.T) {
	overBoth(t, func(t *testing.T, by transport) {
		provider := newShop(t)
		g := newGateway(t, faultkit.HTTP, "shop", provider.behind(by, map[string]any{
			"shop/get": map[string]any{"effect": "read_only"},
			"shop/make": map[string]any{
				"effect": "non_idempotent", "identity": "creation", "resource": map[string]any{"get": "shop/get", "id": "/id"},
				"receipt": map[string]any{"id": "/structuredContent/id"},
			},
		}))
		g.start()
		create := func(title string) note {
			return g.ask("make", nil, map[string]any{"client_id": "thing-of-order-1042", "title": title})
		}
		first, again := create("A thing"), create("A thing")
		if first.Status != "committed" || first.RemoteID() != "thing_1" || again.Decision != "replay" || again.ID != first.ID || !said(again, "It still exists.") {
			t.Errorf("first %s (%s), again %s: %s", first, first.Receipt, again, again.result.Raw)
		}
		provider.drop("thing_1")
		if gone := create("A thing"); gone.Decision != "replay" || gone.RemoteID() != "thing_1" || !said(gone, "It has been removed since.") {
			t.Errorf("after it was removed: %s: %s", gone, gone.result.Raw)
		}
		if other := create("Another thing"); other.Decision != "conflict" {
			t.Errorf("another thing under its id: %s", other)
		}
		if made, _ := provider.count(); made != 1 {
			t.Errorf("made %d", made)
		}
	})
}

func said(n note, what string) bool { return strings.Contains(string(n.result.Raw), what) }

// TestAConfidentialKeyIdentifiesOneRegistration goes over both kinds of tools.
func TestAConfidentialKeyIdentifiesOneRegistration(t *testing.T) {
	const secret = "registration-0123456789-abcdefghijklmnop"
	overBoth(t, func(t *testing.T, by transport) {
		provider := newShop(t)
		g := newGateway(t, faultkit.HTTP, "shop", provider.behind(by, map[string]any{
			"shop/make": map[string]any{"effect": "non_idempotent", "identity": "secret", "key": "runtime", "receipt": map[string]any{"id": "/structuredContent/id"}},
		}))
		g.start()
		register := func(title string) note { return g.call("make", secret, map[string]any{"title": title}) }
		first, again, other := register("An account"), register("An account"), register("Another account")
		if first.Status != "committed" || again.Decision != "replay" || again.ID != first.ID || other.Decision != "conflict" {
			t.Errorf("first %s, again %s, other %s", first, again, other)
		}
		shown := string(g.deed("ops", "list", "--json")) + string(g.deed("ops", "show", first.ID, "--arguments")) + g.said.String() +
			string(first.result.Raw) + string(again.result.Raw) + string(other.result.Raw)
		if made, _ := provider.count(); made != 1 || strings.Contains(shown, secret) {
			t.Errorf("made %d, and shown: %s", made, shown)
		}
	})
}

// TestAnotherAccountAnswersNothing moves the upstream to another account: what was
// done at the first is neither replayed nor done again there.
func TestAnotherAccountAnswersNothing(t *testing.T) {
	overBoth(t, func(t *testing.T, by transport) {
		provider := newShop(t)
		tools := map[string]any{"shop/make": map[string]any{"effect": "non_idempotent", "receipt": map[string]any{"id": "/structuredContent/id"}}}
		config := provider.behind(by, tools)
		g := newGateway(t, faultkit.HTTP, "shop", config)
		g.start()
		const key = "make:order-1042:first"
		arguments := map[string]any{"title": "A thing"}
		first := g.call("make", key, arguments)
		g.kill()
		g.rewrite("shop-live", "shop-test")
		g.start()
		again := g.call("make", key, arguments)
		if first.Status != "committed" || again.Decision != "denied" || again.Reason != string(deed.ReasonUpstreamChanged) {
			t.Errorf("first %s, towards the other account %s", first, again)
		}
		if made, _ := provider.count(); made != 1 {
			t.Errorf("made %d", made)
		}
	})
}
