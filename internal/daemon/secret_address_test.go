// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/deed-run/deed/internal/daemon"
)

// secretOfAddresses stands in for a part of an address that is a secret, as the path
// of a Slack hook is.
const secretOfAddresses = "T0K3N-OF-THE-HOOK"

// A part of an address that comes from ${VAR} is in no log, no record and no answer,
// whichever door it stands behind. Nothing listens at port 1.
func TestASecretInAnAddressIsInNoLogAndNoRecord(t *testing.T) {
	connected := `{"base_url":"http://127.0.0.1:1/api/${HOOK}","allow_private":true,"tools":{"send":{"description":"Sends.","input":{"type":"object"},"method":"POST","path":"/send","effect":"non_idempotent"}}}`
	for name, c := range map[string]struct {
		file   map[string]any
		method string
		path   string
		token  string
		// told: the record or the log names the address as it was written.
		told bool
	}{
		"a read of an HTTP API": {
			file:   map[string]any{"http": map[string]any{"hook": map[string]any{"url": "http://127.0.0.1:1/services/${HOOK}"}}},
			method: "GET", path: "/http/hook/status", told: true,
		},
		"a request to an HTTP API that changes things": {
			file: map[string]any{
				"http":   map[string]any{"hook": map[string]any{"url": "http://127.0.0.1:1/services/${HOOK}/"}},
				"routes": map[string]any{"POST hook/send": map[string]any{}},
			},
			method: "POST", path: "/http/hook/send", told: true,
		},
		"a call of an MCP server": {
			file: map[string]any{
				"upstreams": map[string]any{"zap": map[string]any{"url": "http://127.0.0.1:1/mcp/${HOOK}?key=${HOOK}"}},
				"tools":     map[string]any{"zap/send": map[string]any{"effect": "non_idempotent"}},
			},
			method: "POST", path: "/v1/tools/zap/send/calls", told: true,
		},
		"a call of a connector": {
			file:   map[string]any{"connectors": map[string]any{"zap": map[string]any{"http": json.RawMessage(connected)}}},
			method: "POST", path: "/v1/tools/zap/send/calls", told: true,
		},
		"a key set": {
			file:   map[string]any{"programs": map[string]any{"job": map[string]any{}}, "auth": map[string]any{"jwt": map[string]any{"issuer": "https://issuer.example", "audience": "deed", "jwks": "http://127.0.0.1:1/keys/${HOOK}", "tenant": "default", "rights": []string{"call"}}}},
			method: "GET", path: "/v1/operations", token: "eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwiYXVkIjoiZGVlZCIsImV4cCI6NDEwMjQ0NDgwMH0.c2ln",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, logged := overAddresses(t, c.file)
			var id string
			ask := func(method, path string) string {
				req, err := http.NewRequestWithContext(t.Context(), method, "http://"+d.Address()+path, strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer operator")
				if c.token != "" {
					req.Header.Set("Authorization", "Bearer "+c.token)
				}
				if method == http.MethodPost {
					req.Header.Set("Content-Type", "application/json")
					req.Header.Set("Idempotency-Key", "send:order-1042:first")
				}
				resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = resp.Body.Close() }()
				answer, _ := io.ReadAll(resp.Body)
				var doc struct {
					OperationID string `json:"operation_id"`
				}
				if json.Unmarshal(answer, &doc) == nil && doc.OperationID != "" {
					id = doc.OperationID
				}
				return resp.Status + " " + string(answer)
			}
			told := ask(c.method, c.path)
			if id != "" {
				told += ask(http.MethodGet, "/v1/operations/"+id) + ask(http.MethodGet, "/v1/operations/"+id+"/events")
			} else if c.method == http.MethodPost {
				t.Fatalf("no operation was begun: %s", told)
			}
			if err := d.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			told += logged()
			if strings.Contains(told, secretOfAddresses) {
				t.Errorf("it is told: %s", told)
			}
			if c.told && !strings.Contains(told, "${HOOK}") {
				t.Errorf("the address is not told as it was written: %s", told)
			}
		})
	}
}

// overAddresses starts a gateway for one operator; logged returns its log.
func overAddresses(t *testing.T, file map[string]any) (d *daemon.Daemon, logged func() string) {
	t.Helper()
	file["ledger"], file["listen"] = "sqlite:ledger.db", "127.0.0.1:0"
	auth, _ := file["auth"].(map[string]any)
	if auth == nil {
		auth = map[string]any{}
	}
	auth["tokens"] = []any{map[string]any{"sha256": hashOf("operator"), "tenant": "default", "actor": "ops", "rights": []string{"call", "read", "resolve"}}}
	file["auth"] = auth
	text, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return map[string]string{"HOOK": secretOfAddresses}[name] }
	path := filepath.Join(t.TempDir(), "deed.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := daemon.LoadConfig(path, getenv)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var log strings.Builder
	d, err = daemon.New(t.Context(), daemon.Options{Config: config, Ledger: daemon.Place(config.Ledger.Path), Environ: append(os.Environ(), "HOOK="+secretOfAddresses), Log: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		log.WriteString(text + "\n")
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d, func() string {
		mu.Lock()
		defer mu.Unlock()
		return log.String()
	}
}
