// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector_test

import (
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/faultkit/provider"
)

const fixtureAPI = `system: fixture
tools:
  create:
    method: POST
    path: /tools/ticket.create
    body: json
    receipt: {id: /id, require: true}
    provider_key: {header: Idempotency-Key, retention: 24h}
    marker: {append: /description, template: "<!-- {marker} -->"}
    not_applied: [{status: 503, retry_after_needed: true}]
    reconcile: {lookup: find}
  bulk: {method: POST, path: /tools/bulk.create, body: json, items: {at: /items, sent: /items, id: /id, error: /error}}
lookups:
  find:
    path: /tools/ticket.search
    query: {q: "{marker}"}
    items: /items
    match: {token: /description, contains: "{marker}"}
    id: /id
    pages: {style: one}
    consistency: strong
`

func fixture(t *testing.T, settings provider.Settings) (*provider.Provider, string) {
	t.Helper()
	p, err := provider.Open(provider.Options{Dir: t.TempDir(), Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	s, err := provider.Listen(p, "127.0.0.1:0", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return p, s.Addresses().Tools
}

func effects(t *testing.T, p *provider.Provider) []provider.Effect {
	t.Helper()
	list, err := p.Effects(t.Context(), provider.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// The fixture keeps a ledger of its own: at most one effect, whatever goes wrong, and what is known of it afterwards.
func TestFaultsOfAProvider(t *testing.T) {
	for _, c := range []struct {
		fault   provider.Fault
		first   deed.Status
		effects int
		// looked is what a look-up makes of it.
		looked deed.Status
	}{
		{provider.Fault{Fault: provider.OK}, deed.StatusCommitted, 1, ""},
		{provider.Fault{Fault: provider.CommitDrop, Times: 1}, deed.StatusUncertain, 1, deed.StatusCommitted},
		{provider.Fault{Fault: provider.Commit5xx, Times: 1}, deed.StatusUncertain, 1, deed.StatusCommitted},
		{provider.Fault{Fault: provider.Commit5xx, Times: 1, Params: provider.FaultParams{Status: 500}}, deed.StatusUncertain, 1, deed.StatusCommitted},
		{provider.Fault{Fault: provider.Commit404, Times: 1}, deed.StatusUncertain, 1, deed.StatusCommitted},
		{provider.Fault{Fault: provider.HalfJSON, Times: 1}, deed.StatusUncertain, 1, deed.StatusCommitted},
		{provider.Fault{Fault: provider.Garbage, Times: 1}, deed.StatusUncertain, 1, deed.StatusCommitted},
		{provider.Fault{Fault: provider.Reject4xx, Times: 1}, deed.StatusFailed, 0, ""},
		{provider.Fault{Fault: provider.RejectPrecommit, Times: 1}, deed.StatusFailed, 0, ""},
		{provider.Fault{Fault: provider.RejectPrecommit, Times: 1, Params: provider.FaultParams{RetryAfter: -1}}, deed.StatusUncertain, 0, deed.StatusUncertain},
		{provider.Fault{Fault: provider.RefuseConn, Times: 1}, deed.StatusFailed, 0, ""},
	} {
		t.Run(string(c.fault.Fault), func(t *testing.T) {
			p, address := fixture(t, provider.DefaultSettings())
			l := newLedger(t, load(t, address, fixtureAPI), "api/create",
				`{effect: non_idempotent, marker: {append: /description, template: "<!-- {marker} -->"}, reconcile: {tool: ./find, args: {marker: "{marker}"}, found: "result.structuredContent.items.filter(i, i.token == marker)"}}`)
			if err := p.SetFaults(c.fault); err != nil {
				t.Fatal(err)
			}
			answer := l.call(t, "ticket-for-order-1042", `{"id":"1042","title":"broken","description":"it is broken"}`)
			if answer.Effective != c.first {
				t.Fatalf("%s (%s): %s", answer.Effective, answer.Reason, answer.Text)
			}
			if n := len(effects(t, p)); n != c.effects {
				t.Fatalf("%d effects, want %d", n, c.effects)
			}
			if c.looked == "" {
				return
			}
			finding, err := l.Reconcile(t.Context(), operator, answer.Operation.ID)
			if err != nil {
				t.Fatal(err)
			}
			if finding.Operation.Status != c.looked {
				t.Errorf("after the look-up: %s, %s (%s)", finding.Operation.Status, finding.Counted, finding.Why)
			}
			if c.looked == deed.StatusCommitted {
				effect := effects(t, p)[0]
				if receipt := finding.Operation.Receipt(); receipt.RemoteID != effect.ID {
					t.Errorf("receipt %s, effect %s", receipt.RemoteID, effect.ID)
				}
			}
			l.call(t, "ticket-for-order-1042", `{"id":"1042","title":"broken","description":"it is broken"}`)
			if n := len(effects(t, p)); n != c.effects {
				t.Errorf("%d effects after a repeat, want %d", n, c.effects)
			}
		})
	}
}

func TestALookupThatFailsOrLagsSaysNothing(t *testing.T) {
	for _, lookup := range []provider.Lookup{provider.LookupAbsent, provider.Unavailable, provider.NoLookup} {
		settings := provider.DefaultSettings()
		settings.Lookup = lookup
		p, address := fixture(t, settings)
		l := newLedger(t, load(t, address, fixtureAPI), "api/create",
			`{effect: non_idempotent, marker: {append: /description}, reconcile: {tool: ./find, args: {marker: "{marker}"}, found: "result.structuredContent.items.filter(i, i.token == marker)"}}`)
		if err := p.SetFaults(provider.Fault{Fault: provider.CommitDrop, Times: 1}); err != nil {
			t.Fatal(err)
		}
		answer := l.call(t, "ticket-for-order-1042", `{"id":"1042","title":"broken"}`)
		for range 3 {
			finding, err := l.Reconcile(t.Context(), operator, answer.Operation.ID)
			if err != nil {
				t.Fatal(err)
			}
			if finding.Operation.Status != deed.StatusUncertain || finding.Counted != deed.VerdictUndetermined {
				t.Errorf("%s: %s, %s", lookup, finding.Operation.Status, finding.Counted)
			}
			l.clock.Advance(10 * time.Minute)
		}
		if n := len(effects(t, p)); n != 1 {
			t.Errorf("%s: %d effects", lookup, n)
		}
	}
}

func TestNothingIsSentAfterSendBy(t *testing.T) {
	p, address := fixture(t, provider.DefaultSettings())
	l := newLedger(t, load(t, address, fixtureAPI), "api/create", `{effect: non_idempotent}`)
	_, g, err := l.Claim(t.Context(), deed.Call{Principal: operator, Tool: l.tool, Key: deed.OperationKey("ticket-for-order-1042"), Arguments: []byte(`{"id":"1"}`)})
	if err != nil || g == nil {
		t.Fatal(err)
	}
	l.clock.Advance(g.SendBy.Sub(l.clock.Now()))
	out := l.api.Call(t.Context(), "create", g, g.Arguments)
	if out.Kind != deed.OutcomeUnsent || !strings.Contains(out.Message, "attempt 1 was begun") {
		t.Errorf("%s: %s", out.Kind, out.Message)
	}
	if n := len(effects(t, p)); n != 0 {
		t.Errorf("%d effects", n)
	}
}

func TestAnOperationSendsTheSameKeyInEveryAttempt(t *testing.T) {
	p, address := fixture(t, provider.DefaultSettings())
	l := newLedger(t, load(t, address, fixtureAPI), "api/create", `{effect: non_idempotent}`)
	if err := p.SetFaults(provider.Fault{Fault: provider.RejectPrecommit, Times: 1}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l.call(t, "ticket-for-order-1042", `{"id":"1042"}`)
		l.clock.Advance(5 * time.Second)
	}
	requests, err := p.Requests(t.Context(), provider.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	if len(requests) != 2 || requests[0].Key == "" || requests[0].Key != requests[1].Key {
		t.Errorf("%+v", requests)
	}
}
