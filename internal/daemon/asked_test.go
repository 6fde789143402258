// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/deed-run/deed/internal/daemon"
)

func TestAGatewayTellsOfAMisspeltEntryBeforeACallComes(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	config := configuration(t, dir, map[string]any{
		"upstreams": map[string]any{
			"shop": map[string]any{"command": []string{os.Args[0], "fixture", "stdio", "--dir", filepath.Join(dir, "provider")}},
			"down": map[string]any{"command": []string{filepath.Join(dir, "no-such-program")}},
		},
		"tools": map[string]any{
			"shop/pay.chrge": map[string]any{"effect": "non_idempotent"}, "shop/pay.charge": map[string]any{"effect": "non_idempotent"},
			"down/send": map[string]any{"effect": "non_idempotent"},
		},
	})
	said := make(chan string, 100)
	d, err := daemon.New(t.Context(), daemon.Options{
		Config: config, Ledger: daemon.Place(config.Ledger.Path), Environ: os.Environ(), Transport: daemon.TransportTCP,
		Log: func(text string) { said <- text },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := get(t, d, "/readyz"); got != "200 ready" {
		t.Errorf("before the servers have answered: %s", got)
	}
	const want = "deed.yaml names shop/pay.chrge, which the upstream shop does not list: its rules bind nothing; write shop/pay.charge instead, or remove the entry"
	for text := range said {
		if text == want {
			break
		}
		t.Logf("also said: %s", text)
	}
	if err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAGatewayThatIsStoppedWaitsForNoList(t *testing.T) {
	defer goleak.VerifyNone(t)
	config := configuration(t, t.TempDir(), map[string]any{
		"upstreams": map[string]any{"slow": map[string]any{"command": []string{os.Args[0], "silent"}}},
		"tools":     map[string]any{"slow/send": map[string]any{"effect": "non_idempotent"}},
	})
	d, err := daemon.New(t.Context(), daemon.Options{
		Config: config, Ledger: daemon.Place(config.Ledger.Path), Environ: os.Environ(), Transport: daemon.TransportTCP, Log: func(text string) { t.Log(text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
