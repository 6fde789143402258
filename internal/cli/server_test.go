// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// served starts deed serve over the fixture provider, for one token, and
// returns its address.
func served(t *testing.T, token string) string {
	t.Helper()
	dir := t.TempDir()
	sum := sha256.Sum256([]byte(token))
	auth := map[string]any{}
	if token != "" {
		auth["tokens"] = []any{map[string]any{"sha256": hex.EncodeToString(sum[:]), "tenant": "acme", "actor": "ada", "rights": []string{"call", "read", "resolve"}}}
	}
	doc, err := json.Marshal(map[string]any{
		"ledger": "sqlite:ledger.db", "listen": "127.0.0.1:0", "auth": auth,
		"upstreams": map[string]any{"shop": map[string]any{"command": []string{binary, "fixture", "stdio", "--dir", filepath.Join(dir, "provider")}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "deed.yaml")
	if err := os.WriteFile(config, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	return serving(t, config)
}

// serving starts deed serve by a file and returns its address.
func serving(t *testing.T, config string) string {
	t.Helper()
	cmd := exec.Command(binary, "serve", "--config", config, "--listen", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if _, address, found := strings.Cut(lines.Text(), "listening on "); found {
			go func() {
				for lines.Scan() {
				}
			}()
			return address
		}
	}
	t.Fatal("deed serve says nothing of where it listens")
	return ""
}

// Where nobody is asked for a token, any token would seem to be known.
func TestLoginKeepsNoTokenForADaemonThatAsksForNone(t *testing.T) {
	server := served(t, "")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	login := exec.Command(binary, "login", "--server", server)
	login.Stdin = strings.NewReader("anything\n")
	out, err := login.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 4 || !strings.Contains(string(out), "asks nobody for a token") {
		t.Errorf("deed login: %v\n%s", err, out)
	}
}

func TestOpsWorkThroughARunningDaemon(t *testing.T) {
	const token = "a-token-that-nobody-guesses"
	server := served(t, token)
	t.Setenv("XDG_STATE_HOME", t.TempDir())

	if got := refusedCommand(t, 2, "ops", "list", "--server", server); !strings.Contains(got, "does not know the token") {
		t.Errorf("without a token: %s", got)
	}
	login := exec.Command(binary, "login", "--server", server)
	login.Stdin = strings.NewReader(token + "\n")
	if out, err := login.CombinedOutput(); err != nil {
		t.Fatalf("deed login: %v\n%s", err, out)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server+"/v1/claims",
		strings.NewReader(`{"key":"refund:order-1042:first","tool":"shop/pay.refund","arguments":{"order_id":"order-1042"},"claim_token":"t1"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	var claim struct {
		Operation string `json:"operation_id"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&claim); err != nil || claim.Operation == "" {
		t.Fatalf("the claim is answered %v: %v", claim, err)
	}
	resp.Body.Close()

	if got := deedCommand(t, "ops", "list", "--server", server); !strings.Contains(got, claim.Operation) || !strings.Contains(got, "executing") {
		t.Errorf("deed ops list says\n%s", got)
	}
	got := deedCommand(t, "ops", "show", claim.Operation, "--server", server, "--arguments")
	for _, want := range []string{`{"order_id":"order-1042"}`, "begun", "--server " + server} {
		if !strings.Contains(got, want) {
			t.Errorf("deed ops show lacks %q\n%s", want, got)
		}
	}
	if got := deedCommand(t, "ops", "cancel", claim.Operation, "--reason", "ordered elsewhere", "--server", server); !strings.Contains(got, "the cancellation is noted") {
		t.Errorf("deed ops cancel says\n%s", got)
	}
	if got := refusedCommand(t, 4, "ops", "reopen", claim.Operation, "--server", server); !strings.Contains(got, "nothing was changed") {
		t.Errorf("deed ops reopen says\n%s", got)
	}
	if got := refusedCommand(t, 3, "ops", "show", "op_00000000000000000000000000", "--server", server); !strings.Contains(got, "nothing was done") {
		t.Errorf("of an unknown one deed ops show says\n%s", got)
	}
	forget := deedCommand(t, "login", "--server", server, "--forget")
	if got := refusedCommand(t, 2, "ops", "list", "--server", server); !strings.Contains(got, "does not know the token") {
		t.Errorf("after --forget (%s): %s", fmt.Sprint(forget), got)
	}
}
