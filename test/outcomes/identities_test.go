// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcomes_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/faultkit"
)

// makes is a connector with one tool at the path.
func makes(base, path string, entry map[string]any) map[string]any {
	return map[string]any{
		"connectors": map[string]any{"shop": map[string]any{"http": map[string]any{
			"base_url": base, "allow_private": true,
			"tools": map[string]any{"make": map[string]any{
				"method": "POST", "path": path, "body": "json", "receipt": map[string]any{"id": "/id", "require": true},
				"input": map[string]any{"properties": map[string]any{"client_id": map[string]any{"type": "string"}, "title": map[string]any{"type": "string"}}},
			}},
		}}},
		"tools": map[string]any{"shop/make": entry},
	}
}

func TestAThingIsCreatedOnceUnderItsClientID(t *testing.T) {
	t.Parallel()
	provider := newAPI(t)
	g := newGateway(t, faultkit.Stdio, "shop", makes(provider.URL, "/made", map[string]any{"effect": "non_idempotent", "identity": "creation"}))
	g.start()
	create := func(id, title string) note {
		return g.ask("make", nil, map[string]any{"client_id": id, "title": title})
	}
	first := create("thing-of-order-1042", "A thing")
	again := create("thing-of-order-1042", "A thing")
	other := create("thing-of-order-1043", "A thing for the next order")
	if first.Status != "committed" || again.Decision != "replay" || again.ID != first.ID || other.ID == first.ID {
		t.Errorf("first %s, again %s, other %s", first, again, other)
	}
	if conflict := create("thing-of-order-1042", "Another thing"); conflict.Decision != "conflict" {
		t.Errorf("another thing under the same id: %s", conflict)
	}
	if provider.made() != 2 || !strings.Contains(provider.bodies[0], "thing-of-order-1042") {
		t.Errorf("made %q", provider.bodies)
	}
	provider.lose(true)
	lost := create("thing-of-order-1044", "A lost thing")
	provider.lose(false)
	if held := create("thing-of-order-1044", "A lost thing"); lost.Status != "uncertain" || held.Status != "uncertain" || provider.made() != 3 {
		t.Errorf("lost %s, held %s, made %d", lost, held, provider.made())
	}
}

func TestAConfidentialKeyIsHonouredAndNeverShown(t *testing.T) {
	t.Parallel()
	const secret = "registration-0123456789-abcdefghijklmnop"
	provider := newAPI(t)
	g := newGateway(t, faultkit.HTTP, "shop", makes(provider.URL, "/made", map[string]any{"effect": "non_idempotent", "identity": "secret", "key": "runtime"}))
	g.start()
	register := func() note { return g.call("make", secret, map[string]any{"title": "An account"}) }
	first, again := register(), register()
	if first.Status != "committed" || again.ID != first.ID || provider.made() != 1 {
		t.Errorf("first %s, again %s, made %d", first, again, provider.made())
	}
	shown := string(g.deed("ops", "list", "--json")) + string(g.deed("ops", "show", first.ID, "--arguments")) + g.said.String() + string(first.result.Raw) + string(again.result.Raw)
	if strings.Contains(shown, secret) {
		t.Errorf("the key is shown: %s", shown)
	}
}

func TestARedirectIsNeverFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"301", "302", "303", "307", "308"} {
		provider := newAPI(t)
		g := newGateway(t, faultkit.HTTP, "shop", makes(provider.URL, "/moved/"+status, map[string]any{"effect": "non_idempotent"}))
		g.start()
		answer := g.call("make", "make:order-1042:first", map[string]any{"title": "A thing"})
		if answer.Status != "uncertain" || provider.made() != 0 {
			t.Errorf("%s: %s, and %d made behind it", status, answer, provider.made())
		}
		g.kill()
	}
}

func TestAFormIsTheSameInAnyOrder(t *testing.T) {
	t.Parallel()
	provider := newAPI(t)
	g := newGateway(t, faultkit.HTTP, "shop", map[string]any{
		"upstreams": map[string]any{"shop": map[string]any{"command": []string{built.fixture, "stdio", "--dir", t.TempDir()}}},
		"http":      map[string]any{"pay": map[string]any{"url": provider.URL, "account": "live-42"}},
		"routes":    map[string]any{"POST pay/made": map[string]any{"profile": "stripe", "key": "required"}},
	})
	g.start()
	post := func(form string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+g.Address+"/http/pay/made", strings.NewReader(form))
		g.must(err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Idempotency-Key", "pay:order-1042:first")
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		g.must(err)
		g.must(res.Body.Close())
		return res.StatusCode
	}
	if first, again := post("amount=100&currency=eur&metadata%5Border%5D=1042"), post("metadata[order]=1042&currency=eur&amount=100"); first != 200 || again != 200 || provider.made() != 1 {
		t.Errorf("the same form in another order: %d, %d, made %d", first, again, provider.made())
	}
	if other := post("amount=101&currency=eur&metadata%5Border%5D=1042"); other != 400 || provider.made() != 1 {
		t.Errorf("another form under the key: %d, made %d", other, provider.made())
	}
	for _, op := range g.operations() {
		if op.Status != deed.StatusCommitted {
			t.Errorf("%s is %s", op.ID, op.Status)
		}
	}
}
