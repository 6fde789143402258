// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcomes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/test/process"
)

// gateway is the binary under test on a ledger of its own; it may die and come
// back.
type gateway struct {
	*testing.T
	faultkit.Gateway
	running *faultkit.Running
	said    *quiet
}

// newGateway writes the configuration; nothing runs yet. The upstream is the one
// whose tools are called.
func newGateway(t *testing.T, door faultkit.Door, upstream string, config map[string]any) *gateway {
	t.Helper()
	dir := t.TempDir()
	g := &gateway{T: t, said: &quiet{}}
	g.Gateway = faultkit.Gateway{
		Binary: built.deed, Config: filepath.Join(dir, "deed.yaml"), Upstream: upstream, Door: door, Stderr: g.said,
	}
	written := map[string]any{"ledger": "sqlite:" + filepath.Join(dir, "ledger.db")}
	if door == faultkit.HTTP {
		g.Address = process.FreeAddress(t)
		written["listen"] = g.Address
	}
	maps.Copy(written, config)
	text, err := yaml.Marshal(written)
	g.must(err)
	g.must(os.WriteFile(g.Config, text, 0o600))
	t.Cleanup(func() {
		g.kill()
		if t.Failed() {
			t.Logf("the gateway said:\n%s\nits configuration:\n%s", g.said, text)
		}
	})
	return g
}

func (g *gateway) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

func (g *gateway) start(env ...string) {
	g.Helper()
	with := g.Gateway
	with.Env = append(with.Env, env...)
	running, err := with.Start(g.Context())
	g.must(err)
	g.running = running
}

// kill ends the process as kill -9 does.
func (g *gateway) kill() {
	if g.running != nil {
		g.running.Kill()
		if g.Door == faultkit.HTTP {
			_ = g.running.Session.Close()
		}
		g.running = nil
	}
}

// note is what a caller is told about an operation, in short.
type note struct {
	caller.Operation
	result caller.Result
}

func (n note) String() string {
	switch {
	case n.Decision == "":
		return "no answer"
	case n.Reason != "":
		return n.Decision + "(" + n.Reason + ") " + n.Status
	}
	return n.Decision + " " + n.Status
}

// call calls the tool under the key. Decision is empty when no answer came, and
// "read" when the answer names no operation.
func (g *gateway) call(tool, key string, arguments map[string]any) note {
	g.Helper()
	return g.ask(tool, map[string]any{"deed/idempotency-key": key}, arguments)
}

// ask is call with a _meta of its own.
func (g *gateway) ask(tool string, meta, arguments map[string]any) note {
	g.Helper()
	raw, err := json.Marshal(arguments)
	g.must(err)
	ctx, cancel := context.WithTimeout(g.Context(), 2*time.Minute)
	defer cancel()
	result, err := caller.CallTool(ctx, g.running, caller.Call{Tool: tool, Arguments: raw, Meta: meta})
	if errors.Is(err, caller.ErrNoAnswer) {
		return note{}
	}
	g.must(err)
	if result.Operation == nil {
		return note{caller.Operation{Decision: "read"}, result}
	}
	return note{*result.Operation, result}
}

// row is an operation as the command line shows it.
type row struct {
	ID      deed.OperationID `json:"operation_id"`
	Status  deed.Status      `json:"effective_status"`
	Reason  string           `json:"reason"`
	Key     string           `json:"idempotency_key"`
	Attempt int              `json:"attempt"`
	Receipt *deed.Receipt    `json:"receipt"`
}

func (r row) by() string {
	if r.Receipt == nil {
		return "-"
	}
	return r.Receipt.EstablishedBy
}

// operations are all of the ledger, by key.
func (g *gateway) operations() map[string]row {
	g.Helper()
	var page struct{ Operations []row }
	g.must(json.Unmarshal(g.deed("ops", "list", "--limit", "500", "--json"), &page))
	all := map[string]row{}
	for _, r := range page.Operations {
		all[r.Key] = r
	}
	return all
}

// deed runs a command of the binary on the gateway's configuration.
func (g *gateway) deed(args ...string) []byte {
	g.Helper()
	command := exec.CommandContext(g.Context(), g.Binary, append(args, "--config", g.Config)...)
	command.Env = append(os.Environ(), g.Env...)
	var out, complaints bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaints
	if err := command.Run(); err != nil {
		g.Fatalf("deed %v: %v\n%s%s", args, err, out.String(), complaints.String())
	}
	return out.Bytes()
}

// await looks again and again until ok, and fails the test after two minutes.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.After(2 * time.Minute)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s: not within two minutes", what)
		}
	}
}

// quiet keeps what a process says.
type quiet struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (q *quiet) Write(data []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.buffer.Write(data)
}

func (q *quiet) String() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.buffer.String()
}

// rewrite changes a text of the configuration, for the next start.
func (g *gateway) rewrite(from, to string) {
	g.Helper()
	text, err := os.ReadFile(g.Config)
	g.must(err)
	changed := bytes.ReplaceAll(text, []byte(from), []byte(to))
	if bytes.Equal(text, changed) {
		g.Fatalf("the configuration does not say %q", from)
	}
	g.must(os.WriteFile(g.Config, changed, 0o600))
}
