// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/faultkit/provider"
)

// findable guards a tool whose effects a look-up finds by a planted mark.
func (f *fleet) findable() {
	f.write(object{
		"ledger": f.place, "defaults": object{"lease": "3s", "timeout": "1m", "rate": "1000000/s", "repeat": "1000000/s"},
		"upstreams": object{"shop": object{"url": f.fixture.MCP}},
		"tools": object{
			"shop/ticket.create": object{
				"effect": "non_idempotent", "key": "required", "marker": object{"into": "/mark"}, "max_processing": "1s",
				"receipt": object{"system": "shop", "id": "/structuredContent/id"},
				"reconcile": object{
					"tool": "./ticket.search", "args": object{"q": "{marker}"}, "lag": "1s",
					"found": "result.structuredContent.items.filter(i, i.mark == marker)",
				},
			},
			"shop/ticket.search": object{"effect": "read_only"},
		},
	})
}

// The gateway that had the call in hand is killed; another looks the effect up
// by itself, without anybody calling again.
func TestWhatAKilledGatewayHadInHandIsReconciledByAnother(t *testing.T) {
	for _, kind := range []store{inSQLite, inPostgreSQL} {
		for name, mishap := range map[string]struct {
			fault provider.FaultKind
			// ends is where the look-up of the other gateway leads.
			ends    deed.Status
			repeats string
		}{
			"after the effect": {provider.CommitHang, deed.StatusCommitted, "replay"},
			"and nothing was":  {provider.Hang, deed.StatusFailed, "execute"},
		} {
			t.Run(string(kind)+"/"+name, func(t *testing.T) {
				t.Parallel()
				f := newFleet(t, kind, cluster, 0, nil)
				f.findable()
				f.start()
				f.start()
				const key, id = "ticket:1:first:time", "ticket-1"
				create := func(i int) verdict {
					return callV1(t.Context(), "http://"+f.addresses[i], key, "ticket.create", object{"id": id, "title": "A ticket"})
				}
				f.misbehave(provider.Fault{Fault: mishap.fault, Tool: "ticket.create"})
				answered := make(chan verdict, 1)
				go func() { answered <- create(0) }()
				f.must(f.fixture.AwaitHeld(t.Context(), "ticket.create", 1))
				f.gateways[0].Kill()
				if told := <-answered; told.err == nil {
					t.Errorf("the caller of a killed gateway was told %s", told)
				}
				op := f.becomes(1, key, mishap.ends)
				told := create(1)
				if told.decision != mishap.repeats || told.status != string(deed.StatusCommitted) {
					t.Errorf("a repeat was answered %s", told)
				}
				effects, err := f.fixture.Effects(t.Context(), provider.Selection{Op: id})
				f.must(err)
				if len(effects) != 1 || effects[0].ID != told.remote {
					t.Fatalf("the receipt says %s and the provider did %v", told.remote, effects)
				}
				if mishap.ends == deed.StatusCommitted && (op.Receipt == nil || !strings.HasPrefix(op.Receipt.EstablishedBy, "reconcile:") || op.Receipt.RemoteID != told.remote) {
					t.Errorf("the receipt of the look-up is %+v", op.Receipt)
				}
			})
		}
	}
}

// becomes waits, without calling the tool, until the operation of a key stands
// so at a gateway.
func (f *fleet) becomes(i int, key string, want deed.Status) api.Operation {
	f.Helper()
	client, err := api.New(api.Options{BaseURL: "http://" + f.addresses[i], HTTP: plain()})
	f.must(err)
	var last deed.Status
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		page, err := client.Page(f.Context(), api.Query{Key: key})
		f.must(err)
		if len(page.Operations) != 1 {
			f.Fatalf("%d operations have the key %s", len(page.Operations), key)
		}
		if last = page.Operations[0].Status; last == want {
			return page.Operations[0]
		}
	}
	f.Fatalf("%s is %s and does not become %s", key, last, want)
	return api.Operation{}
}
