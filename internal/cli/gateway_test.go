// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

// shop is a provider with a deed.yaml in front of it.
func shop(t *testing.T) (fixture *faultkit.Fixture, config string) {
	t.Helper()
	dir := t.TempDir()
	fixture, err := faultkit.StartFixture(t.Context(), []string{binary, "fixture"}, filepath.Join(dir, "provider"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fixture.Close(); err != nil {
			t.Error(err)
		}
	})
	text, err := json.Marshal(map[string]any{
		"ledger": "sqlite:ledger.db", "listen": "127.0.0.1:0",
		"upstreams": map[string]any{"shop": map[string]any{"command": fixture.Upstream()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	config = filepath.Join(dir, "deed.yaml")
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return fixture, config
}

func charge(order string) caller.Call {
	return caller.Call{
		Tool: "pay.charge", Arguments: json.RawMessage(`{"order_id":"` + order + `","amount":5}`),
		Meta: map[string]any{"deed/idempotency-key": "charge:" + order + ":first"},
	}
}

// deedCommand runs a command to its end and returns what it printed.
func deedCommand(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("deed %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestServeIsOperatedOnWhileItRuns(t *testing.T) {
	fixture, config := shop(t)
	if err := fixture.SetFaults(t.Context(), provider.Fault{Fault: provider.CommitDrop, Times: 1}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "serve", "--config", config)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stderr)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`^deed: listening on (http://127\.0\.0\.1:[0-9]+)\n$`).FindStringSubmatch(first)
	if address == nil {
		t.Fatalf("first line: %q", first)
	}
	// Asked to read its files anew, it says that it does not, and goes on.
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for line := ""; !strings.HasPrefix(line, "deed: SIGHUP: the configuration"); {
		if line, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	session, err := caller.DialHTTP(t.Context(), address[1]+"/mcp/shop", caller.Legacy, http.Header{})
	if err != nil {
		t.Fatal(err)
	}
	call := func() string {
		t.Helper()
		result, err := caller.CallTool(t.Context(), session, charge("order-1"))
		if err != nil || result.Operation == nil {
			t.Fatalf("%v %s", err, result.Raw)
		}
		return result.Operation.Decision + " " + result.Operation.Status
	}
	if got := call(); got != "execute uncertain" {
		t.Errorf("the lost answer: %s", got)
	}
	id := regexp.MustCompile(`op_[0-9A-Z]{26}`).FindString(deedCommand(t, "ops", "list", "--config", config, "--status", "uncertain"))
	deedCommand(t, "ops", "resolve", id, "--config", config, "--committed", "--remote-id", "pay_1", "--reason", "seen there")
	if got := call(); got != "replay committed" {
		t.Errorf("after a person resolved it: %s", got)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := lines.ReadString(0); err == nil {
		t.Error("stderr did not end")
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("a graceful stop ended with %v", err)
	}
}

// gateway is a deed mcp whose streams the test holds.
type gateway struct {
	cmd    *exec.Cmd
	in     *os.File
	out    *os.File
	stderr bytes.Buffer
}

func startGateway(t *testing.T, config string) *gateway {
	t.Helper()
	childIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{cmd: exec.Command(binary, "mcp", "--config", config), in: in, out: out}
	g.cmd.Stdin, g.cmd.Stdout, g.cmd.Stderr = childIn, childOut, &g.stderr
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = childIn.Close(), childOut.Close()
	t.Cleanup(func() { _, _ = in.Close(), out.Close() })
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"pay.charge","arguments":{"order_id":"order-1","amount":5},"_meta":{"progressToken":1,"deed/idempotency-key":"charge:order-1:first"}}}`,
	} {
		if _, err := in.WriteString(line + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

func TestACallUnderWaySurvivesTheEndOfItsGateway(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(g *gateway) error
	}{
		{"SIGTERM", func(g *gateway) error { return g.cmd.Process.Signal(syscall.SIGTERM) }},
		{"SIGHUP", func(g *gateway) error { return g.cmd.Process.Signal(syscall.SIGHUP) }},
		{"SIGINT", func(g *gateway) error { return g.cmd.Process.Signal(os.Interrupt) }},
		{"the end of the input", func(g *gateway) error { return g.in.Close() }},
		{"a client that is gone", func(g *gateway) error {
			if err := g.out.Close(); err != nil {
				return err
			}
			return g.in.Close()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fixture, config := shop(t)
			if err := fixture.SetFaults(t.Context(), provider.Fault{Fault: provider.Hang, Times: 1}); err != nil {
				t.Fatal(err)
			}
			g := startGateway(t, config)
			if err := fixture.AwaitHeld(t.Context(), "pay.charge", 1); err != nil {
				t.Fatal(err)
			}
			if err := c.end(g); err != nil {
				t.Fatal(err)
			}
			if err := fixture.Release(context.Background(), ""); err != nil {
				t.Fatal(err)
			}
			if err := g.cmd.Wait(); err != nil {
				t.Errorf("the gateway ended with %v: %s", err, &g.stderr)
			}
			if got := deedCommand(t, "ops", "list", "--config", config); !strings.Contains(got, "committed") {
				t.Errorf("the ledger says\n%s", got)
			}
		})
	}
}

func TestAPortThatIsTakenStartsNothing(t *testing.T) {
	_, config := shop(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	got := refusedCommand(t, 2, "serve", "--config", config, "--listen", taken.Addr().String())
	if !strings.Contains(got, "listen tcp "+taken.Addr().String()+": bind: ") || strings.Count(got, "listen tcp") != 1 || !strings.Contains(got, "nothing was started") {
		t.Errorf("deed serve says\n%s", got)
	}
}
