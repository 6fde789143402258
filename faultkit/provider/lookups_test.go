// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/deed-run/deed/faultkit/provider"
)

// local is a provider without a process, whose clock the test moves.
func local(t *testing.T, settings provider.Settings) (p *provider.Provider, advance func(time.Duration)) {
	t.Helper()
	now := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	p, err := provider.Open(provider.Options{Dir: t.TempDir(), Settings: settings, Now: func() time.Time { return now }})
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	return p, func(d time.Duration) { now = now.Add(d) }
}

func call(t *testing.T, p *provider.Provider, tool, arguments string) provider.Reply {
	t.Helper()
	return p.Call(t.Context(), provider.Call{Tool: tool, Arguments: json.RawMessage(arguments)})
}

func found(r provider.Reply) int {
	items, _ := r.Structured["items"].([]map[string]any)
	return len(items)
}

func TestAnIndexShowsEffectsOnlyAfterItsLag(t *testing.T) {
	settings := provider.DefaultSettings()
	settings.IndexLagMS = 3000
	p, advance := local(t, settings)
	call(t, p, "ticket.create", `{"id":"7","title":"late"}`)
	advance(2 * time.Second)
	if n := found(call(t, p, "ticket.search", `{"q":"late"}`)); n != 0 {
		t.Errorf("after 2 s of 3: %d found", n)
	}
	advance(time.Second)
	if n := found(call(t, p, "ticket.search", `{"q":"late"}`)); n != 1 {
		t.Errorf("after 3 s of 3: %d found", n)
	}
}

func TestAClientIDIsRefusedASecondTime(t *testing.T) {
	settings := provider.DefaultSettings()
	settings.UniqueIDs = true
	p, _ := local(t, settings)
	for i, want := range []int{0, 409, 0} {
		args := []string{`{"id":"1","client_id":"a"}`, `{"id":"2","client_id":"a"}`, `{"id":"3","client_id":"b"}`}[i]
		if got := call(t, p, "ticket.create", args).Status; got != want {
			t.Errorf("call %d: status %d, want %d", i+1, got, want)
		}
	}
}

func TestALookUpThatGoesWrongHasNoEffect(t *testing.T) {
	p, _ := local(t, provider.DefaultSettings())
	for _, kind := range []provider.FaultKind{provider.CommitDrop, provider.Commit5xx, provider.HalfJSON, provider.Garbage, provider.IsError} {
		must(t, p.SetFaults(provider.Fault{Tool: "ticket.search", Fault: kind, Times: 1, Params: provider.FaultParams{Commit: true}}))
		call(t, p, "ticket.search", `{"q":"x"}`)
	}
	effects, err := p.Effects(t.Context(), provider.Selection{})
	must(t, err)
	if len(effects) != 0 {
		t.Errorf("%d effects", len(effects))
	}
}

func TestAKeyInMetaCountsLikeAHeader(t *testing.T) {
	settings := provider.DefaultSettings()
	settings.ProviderKeySupport = true
	p, _ := local(t, settings)
	for range 2 {
		p.Call(t.Context(), provider.Call{
			Tool: "pay.charge", Arguments: json.RawMessage(`{"order_id":"1"}`), Meta: json.RawMessage(`{"idempotency_key":"k"}`),
		})
	}
	effects, err := p.Effects(t.Context(), provider.Selection{})
	must(t, err)
	if len(effects) != 1 {
		t.Errorf("%d effects", len(effects))
	}
}
