// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/sqlite"
)

// pinned writes into the ledger that a tool once had another definition.
func pinned(t *testing.T, config string, tool deed.Tool) {
	t.Helper()
	ledger, err := sqlite.Open(t.Context(), filepath.Join(filepath.Dir(config), "ledger.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	old, err := json.Marshal(mcpgate.Pin{Tool: tool, Accepted: "sha256:old", Definition: json.RawMessage(`{"name":"` + tool.Name() + `"}`)})
	if err == nil {
		_, err = ledger.Setting(t.Context(), mcpgate.PinName(tool), func([]byte) []byte { return old })
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
}

// refusedCommand runs a command that must end with an exit code.
func refusedCommand(t *testing.T, code int, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("deed %s ended with %d, want %d\n%s", strings.Join(args, " "), got, code, out)
	}
	return string(out)
}

func TestAChangedDefinitionIsAcceptedWhileTheGatewayRuns(t *testing.T) {
	_, config := shop(t)
	pinned(t, config, "shop/pay.charge")
	session, err := caller.StartStdio(t.Context(), caller.Command{Path: binary, Args: []string{"mcp", "--config", config}})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	call := func() string {
		t.Helper()
		result, err := caller.CallTool(t.Context(), session, charge("order-1"))
		if err != nil || result.Operation == nil {
			t.Fatalf("%v %s", err, result.Raw)
		}
		return result.Operation.Decision
	}
	if got := call(); got != "denied" {
		t.Fatalf("a call of the changed tool: %s", got)
	}
	if got := deedCommand(t, "tools", "--config", config); !strings.Contains(got, "quarantined: every call is refused") ||
		!strings.Contains(got, "next: deed tools diff shop/pay.charge --config "+config) {
		t.Errorf("deed tools does not mark it:\n%s", got)
	}
	shown := deedCommand(t, "tools", "diff", "shop/pay.charge", "--config", config)
	_, accept, found := strings.Cut(shown, "  deed tools accept ")
	if !found || !strings.Contains(shown, `-   "name"`) && !strings.Contains(shown, `+   "inputSchema"`) {
		t.Fatalf("the difference:\n%s", shown)
	}
	if got := refusedCommand(t, 4, "tools", "accept", "shop/pay.charge", "--config", config, "--digest", "sha256:other"); !strings.Contains(got, "nothing was changed; look again") {
		t.Errorf("another digest: %s", got)
	}
	if got := call(); got != "denied" {
		t.Fatalf("before it is accepted: %s", got)
	}
	// The command that was shown, word for word.
	deedCommand(t, append([]string{"tools", "accept"}, strings.Fields(accept)...)...)
	if got := call(); got != "execute" {
		t.Errorf("after it was accepted: %s", got)
	}
	if got := deedCommand(t, "tools", "diff", "shop/pay.charge", "--config", config); !strings.Contains(got, "is as it was pinned") || !strings.Contains(got, "accepted before by operator:") {
		t.Errorf("afterwards:\n%s", got)
	}
	refusedCommand(t, 4, "tools", "accept", "shop/pay.charge", "--config", config)
	refusedCommand(t, 3, "tools", "diff", "shop/no.such", "--config", config)
	refusedCommand(t, 2, "tools", "diff", "pay.charge", "--config", config)
	acceptances(t, config, 1)
}

func acceptances(t *testing.T, config string, want int) {
	t.Helper()
	ledger, err := sqlite.Open(t.Context(), filepath.Join(filepath.Dir(config), "ledger.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	events, err := ledger.Events(t.Context(), deed.EventQuery{Tenant: "default", Name: "definition_accepted"})
	if err != nil || len(events) != want {
		t.Fatalf("%d events, %v", len(events), err)
	}
	for _, e := range events {
		var data struct{ From, To string }
		if err := json.Unmarshal(e.Data, &data); err != nil || e.Tool != "shop/pay.charge" || data.From != "sha256:old" || data.To == "" ||
			!strings.HasPrefix(string(e.Actor), "operator:") || strings.Count(string(e.Actor), "operator:") != 1 {
			t.Errorf("event: %+v, data %s", e, e.Data)
		}
	}
}
