// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

// door is a way to reach the gateway, with the protocol era spoken there.
type door struct {
	name    string
	kind    faultkit.Door
	version string
}

func (d door) stdio() bool  { return d.kind == faultkit.Stdio }
func (d door) modern() bool { return d.version == caller.Modern }

func doors() []door {
	return []door{
		{"stdio", faultkit.Stdio, caller.Legacy},
		{"http-session", faultkit.HTTP, caller.Legacy},
		{"http-stateless", faultkit.HTTP, caller.Modern},
	}
}

// setup is what a story wants of the gateway; the zero value is a gateway whose
// upstream speaks like its door, with the defaults of a real configuration.
type setup struct {
	// tools are entries of the configuration by the tool's own name.
	tools map[string]any
	// defaults replace entries of the usual ones.
	defaults map[string]any
	// url and command choose the transport to the provider whatever the door is.
	url, command bool
	// upstream replaces the provider as the gateway's upstream.
	upstream map[string]any
	// skewed takes the binary with the shifted clock and the crash points.
	skewed bool
	wrap   []string
}

// world is a provider that counts, and a gateway in front of it that may die and
// come back on the same ledger.
type world struct {
	*testing.T
	door    door
	fixture *faultkit.Fixture
	gateway faultkit.Gateway
	running *faultkit.Running
	config  map[string]any
	ledger  string
	// offset is how far the gateway's clock is ahead of the machine's.
	offset time.Duration
	stderr *bytes.Buffer
}

// patience bounds a story. Nothing is measured against it.
const patience = 2 * time.Minute

func newWorld(t *testing.T, d door, s setup) *world {
	t.Helper()
	w := prepare(t, d, s)
	w.start()
	return w
}

// prepare starts the provider and writes the configuration; no gateway runs yet.
func prepare(t *testing.T, d door, s setup) *world {
	t.Helper()
	dir := t.TempDir()
	fixture, err := faultkit.StartFixture(context.Background(), []string{built.fixture}, filepath.Join(dir, "provider"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, door: d, fixture: fixture, ledger: filepath.Join(dir, "ledger.db"), stderr: &bytes.Buffer{}}
	t.Cleanup(w.end)
	upstream := s.upstream
	switch {
	case upstream != nil:
	case s.url || !s.command && !d.stdio():
		upstream = map[string]any{"url": fixture.MCP}
	default:
		upstream = map[string]any{"command": fixture.Upstream()}
	}
	defaults := map[string]any{"lease": "5s", "timeout": "2s", "late": "2s"}
	maps.Copy(defaults, s.defaults)
	tools := map[string]any{}
	for name, rules := range s.tools {
		tools["shop/"+name] = rules
	}
	config := map[string]any{
		"ledger": "sqlite:" + w.ledger, "defaults": defaults, "tools": tools,
	}
	w.gateway = faultkit.Gateway{
		Binary: built.plain, Wrap: s.wrap, Config: filepath.Join(dir, "deed.yaml"), Upstream: "shop", Door: d.kind, Version: d.version, Stderr: w.stderr,
	}
	if s.skewed {
		w.gateway.Binary = built.skewed
	}
	if !d.stdio() {
		w.gateway.Address = freeAddress(t)
		config["listen"] = w.gateway.Address
	}
	w.config = config
	w.reconfigure(upstream)
	return w
}

// reconfigure writes the configuration with another upstream.
func (w *world) reconfigure(upstream map[string]any) {
	w.Helper()
	w.config["upstreams"] = map[string]any{"shop": upstream}
	w.write(w.gateway.Config, w.config)
}

func (w *world) write(path string, config map[string]any) {
	w.Helper()
	text, err := yaml.Marshal(config)
	w.must(err)
	w.must(os.WriteFile(path, text, 0o600))
}

// end clears up; when the story failed it shows what the gateway said.
func (w *world) end() {
	if w.running != nil {
		w.running.Kill()
	}
	_ = w.fixture.Close()
	if w.Failed() && w.stderr.Len() > 0 {
		w.Logf("the gateway said:\n%s", w.stderr)
	}
}

// misbehave orders the provider to serve the next call of any tool so.
func (w *world) misbehave(kinds ...provider.FaultKind) {
	w.Helper()
	for _, kind := range kinds {
		w.order(provider.Fault{Fault: kind, Times: 1})
	}
}

func (w *world) order(f provider.Fault) {
	w.Helper()
	w.must(w.fixture.SetFaults(w.Context(), f))
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

var nextPort atomic.Int32

// freeAddress finds a port below those that the system gives to connections, so
// that nobody takes it while the gateway is down.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 2000 {
		port := 18000 + (os.Getpid()*37+int(nextPort.Add(1)))%12000
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		address := listener.Addr().String()
		_ = listener.Close()
		return address
	}
	t.Fatal("no free port")
	return ""
}
