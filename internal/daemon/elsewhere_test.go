// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/faultkit/provider"
)

// No account is declared: the address says where effects go. A gateway whose
// upstream of the same name is at another address would find nothing there.
func TestAGatewayDoesNotLookUpWhatAnotherSentElsewhere(t *testing.T) {
	here, hereAt := shop(t)
	there, thereAt := shop(t)
	for name, at := range map[string]func(pays, finds string) map[string]any{
		"with a tool of its own upstream": func(pays, _ string) map[string]any { return markedTickets(pays, pays, "./ticket.search") },
		"with a tool of another upstream": func(_, finds string) map[string]any {
			return markedTickets(hereAt, finds, "desk/ticket.search")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			call := api.CallRequest{Arguments: json.RawMessage(`{"id":"ticket-1","title":"A ticket"}`)}
			// The answer is lost, and the first look fails.
			err := here.SetFaults(provider.Fault{Fault: provider.CommitDrop, Tool: "ticket.create", Times: 1}, provider.Fault{Fault: provider.RPCErrorFault, Tool: "ticket.search", Times: 1})
			if err != nil {
				t.Fatal(err)
			}
			before := effectsAt(t, here)
			d := boot(t, configuration(t, dir, at(hereAt, hereAt)))
			if _, err := bearing(t, d, agentToken).Call(t.Context(), "shop/ticket.create", "ticket:1:first:time", call); err == nil {
				t.Fatal("the answer was not lost")
			}
			page, err := bearing(t, d, agentToken).Page(t.Context(), api.Query{Key: "ticket:1:first:time"})
			if err != nil || len(page.Operations) != 1 || page.Operations[0].Status != deed.StatusUncertain {
				t.Fatalf("%+v, %v", page, err)
			}
			id := page.Operations[0].OperationID
			if err := d.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}

			d = boot(t, configuration(t, dir, at(thereAt, thereAt)))
			_, err = bearing(t, d, bossToken).Reconcile(t.Context(), id)
			if err == nil || !strings.Contains(err.Error(), "look-ups now go to "+thereAt) {
				t.Errorf("it was looked up at the other place: %v", err)
			}
			if err := d.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}

			d = boot(t, configuration(t, dir, at(hereAt, hereAt)))
			// The worker looks too; whoever comes first finds it.
			_, _ = bearing(t, d, bossToken).Reconcile(t.Context(), id)
			committed(t, d, "/v1/operations/"+string(id))
			if err := d.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := effectsAt(t, here) - before; n != 1 || effectsAt(t, there) != 0 {
				t.Errorf("%d effects here, %d there", n, effectsAt(t, there))
			}
		})
	}
}

func shop(t *testing.T) (*provider.Provider, string) {
	t.Helper()
	p, err := provider.Open(provider.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	server, err := provider.Listen(p, "127.0.0.1:0", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, server.Addresses().MCP
}

func effectsAt(t *testing.T, p *provider.Provider) int {
	t.Helper()
	effects, err := p.Effects(t.Context(), provider.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	return len(effects)
}

// markedTickets are made at one address, and found by their marks with a tool.
func markedTickets(made, found, finder string) map[string]any {
	token := func(text string, rights ...string) map[string]any {
		return map[string]any{"sha256": hashOf(text), "tenant": "acme", "actor": text, "rights": rights}
	}
	return map[string]any{
		"auth":      map[string]any{"tokens": []any{token(agentToken, "call", "read"), token(bossToken, "read", "resolve")}},
		"upstreams": map[string]any{"shop": map[string]any{"url": made}, "desk": map[string]any{"url": found}},
		"tools": map[string]any{
			"shop/ticket.create": map[string]any{
				"effect": "non_idempotent", "key": "required", "marker": map[string]any{"into": "/mark"}, "max_processing": "500ms",
				"reconcile": map[string]any{
					"tool": finder, "args": map[string]any{"q": "{marker}"}, "lag": "500ms",
					"found": "result.structuredContent.items.filter(i, i.mark == marker)",
				},
			},
			"shop/ticket.search": map[string]any{"effect": "read_only"},
			"desk/ticket.search": map[string]any{"effect": "read_only"},
		},
	}
}
