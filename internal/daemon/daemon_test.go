// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/policy"
)

// TestMain lets this binary be the upstream that the tests configure.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "fixture" {
		os.Exit(faultkit.FixtureMain(context.Background(), os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == "silent" {
		// An upstream that answers nothing, until its input ends.
		_, err := io.Copy(io.Discard, os.Stdin)
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// configuration is a deed.yaml with one upstream, kept in dir.
func configuration(t *testing.T, dir string, more map[string]any) *policy.Config {
	t.Helper()
	file := map[string]any{
		"ledger": "sqlite:ledger.db", "listen": "127.0.0.1:0",
		"upstreams": map[string]any{"shop": map[string]any{"command": []string{os.Args[0], "fixture", "stdio", "--dir", filepath.Join(dir, "provider")}}},
	}
	for key, value := range more {
		file[key] = value
	}
	text, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	config, err := policy.Parse(filepath.Join(dir, "deed.yaml"), text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func boot(t *testing.T, config *policy.Config) *daemon.Daemon {
	t.Helper()
	d, err := daemon.New(t.Context(), daemon.Options{Config: config, Ledger: daemon.Place(config.Ledger.Path), Environ: os.Environ(), Log: func(text string) { t.Log(text) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

func get(t *testing.T, d *daemon.Daemon, path string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get("http://" + d.Address() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(res.StatusCode, " ", strings.TrimSpace(string(body)))
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// charge makes one call in a session of its own.
func charge(t *testing.T, d *daemon.Daemon, token string) caller.Result {
	t.Helper()
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	s, err := caller.DialHTTP(t.Context(), "http://"+d.Address()+"/mcp/shop", caller.Legacy, header)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	result, err := caller.CallTool(t.Context(), s, caller.Call{
		Tool: "pay.charge", Arguments: json.RawMessage(`{"order_id":"order-1","amount":5}`),
		Meta: map[string]any{"deed/idempotency-key": "charge:order-1:first"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if result.Operation == nil {
		t.Fatalf("no operation in %s", result.Raw)
	}
	return result
}

func TestDaemonServesAndRemembers(t *testing.T) {
	defer goleak.VerifyNone(t)
	config := configuration(t, t.TempDir(), nil)
	for _, want := range []string{"execute", "replay"} {
		d := boot(t, config)
		if got := get(t, d, "/healthz"); got != "200 ok" {
			t.Errorf("healthz: %s", got)
		}
		if got := get(t, d, "/readyz"); got != "200 ready" {
			t.Errorf("readyz: %s", got)
		}
		if got := get(t, d, "/nothing"); !strings.HasPrefix(got, "404") {
			t.Errorf("another path: %s", got)
		}
		if got := charge(t, d, "").Operation; got.Decision != want || got.Status != "committed" {
			t.Errorf("got %s %s, want %s committed", got.Decision, got.Status, want)
		}
		if err := d.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestDaemonKnowsItsCallersByTheirTokens(t *testing.T) {
	defer goleak.VerifyNone(t)
	config := configuration(t, t.TempDir(), map[string]any{"auth": map[string]any{"tokens": []any{
		map[string]any{"sha256": hashOf("one"), "tenant": "acme", "actor": "a", "rights": []string{"call", "read"}},
		map[string]any{"sha256": hashOf("two"), "tenant": "zeta", "actor": "a", "rights": []string{"call", "read"}},
	}}})
	d := boot(t, config)
	defer func() {
		if err := d.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if got := get(t, d, "/mcp/shop"); !strings.HasPrefix(got, "401") {
		t.Errorf("without a token: %s", got)
	}
	first := charge(t, d, "one").Operation
	again := charge(t, d, "one").Operation
	other := charge(t, d, "two").Operation
	if first.Decision != "execute" || again.Decision != "replay" || again.ID != first.ID {
		t.Errorf("one tenant: %s %s, then %s %s", first.Decision, first.ID, again.Decision, again.ID)
	}
	if other.Decision != "execute" || other.ID == first.ID {
		t.Errorf("the same key in another tenant: %s %s", other.Decision, other.ID)
	}
}

func TestDaemonRefusesToStart(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*policy.Config)
		want   string
	}{
		{"on an open address without tokens", func(c *policy.Config) { c.Listen = "0.0.0.0:0" }, "neither auth.tokens nor auth.jwt are configured; nothing was started"},
		{"without upstreams", func(c *policy.Config) { c.Upstreams = nil }, "has neither upstreams nor http, connectors or programs; nothing was started"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := configuration(t, t.TempDir(), nil)
			c.change(config)
			_, err := daemon.New(t.Context(), daemon.Options{Config: config, Ledger: daemon.Place(config.Ledger.Path)})
			var refused *daemon.ConfigError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if _, err := os.Stat(config.Ledger.Path); err == nil {
				t.Error("a ledger was made")
			}
		})
	}
}
