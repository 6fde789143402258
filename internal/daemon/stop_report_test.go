// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/provider"
	"github.com/deed-run/deed/internal/daemon"
)

func TestAGatewayThatEndsSaysWhichCallsItLeft(t *testing.T) {
	dir := t.TempDir()
	fixture, err := faultkit.StartFixture(t.Context(), []string{os.Args[0], "fixture"}, filepath.Join(dir, "provider"))
	if err != nil {
		t.Fatal(err)
	}
	defer fixture.Close()
	if err := fixture.SetFaults(t.Context(), provider.Fault{Fault: provider.CommitHang, Times: 1}); err != nil {
		t.Fatal(err)
	}
	config := configuration(t, dir, map[string]any{"upstreams": map[string]any{"shop": map[string]any{"command": fixture.Upstream()}}})
	var mu sync.Mutex
	var said []string
	core, err := daemon.Open(t.Context(), daemon.Options{
		Config: config, Ledger: daemon.Place(config.Ledger.Path), Environ: os.Environ(), Transport: daemon.TransportPipe,
		Log: func(text string) { mu.Lock(); defer mu.Unlock(); said = append(said, text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	in, client := io.Pipe()
	served := make(chan error, 1)
	who := deed.Principal{Tenant: "default", Actor: "local", Rights: []deed.Right{deed.RightCall, deed.RightRead}}
	go func() {
		served <- core.ServeStdio(t.Context(), daemon.StdioOptions{Upstream: "shop", Principal: who, Drain: 3 * time.Second}, in, io.Discard)
	}()
	for _, message := range []map[string]any{
		{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"}}},
		{"jsonrpc": "2.0", "method": "notifications/initialized"},
		{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": map[string]any{
			"name": "pay.charge", "arguments": map[string]any{"order_id": "order-1", "amount": 5}, "_meta": map[string]any{"deed/idempotency-key": "charge:order-1:first"},
		}},
	} {
		if err := json.NewEncoder(client).Encode(message); err != nil {
			t.Fatal(err)
		}
	}
	if err := fixture.AwaitHeld(t.Context(), "pay.charge", 1); err != nil {
		t.Fatal(err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`(?m)^stopped before 1 call had an answer: (op_\w+) is uncertain and is not sent again; look with deed ops show op_\w+ --config ` + regexp.QuoteMeta(config.File) + `$`)
	mu.Lock()
	defer mu.Unlock()
	if !want.MatchString(strings.Join(said, "\n")) {
		t.Errorf("it said %q", said)
	}
}
