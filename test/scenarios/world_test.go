// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/provider"
	"github.com/deed-run/deed/test/process"
)

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
	// gateway are further entries of the configuration's top level.
	gateway map[string]any
}

// world is a provider that counts, and a gateway in front of it that may die and
// come back on the same ledger.
type world struct {
	*testing.T
	door     door
	replicas int
	fixture  *faultkit.Fixture
	gateway  faultkit.Gateway
	running  *gateways
	config   map[string]any
	// ledger is the file of a ledger in SQLite, database the name of one in
	// PostgreSQL; the other is empty.
	ledger, database string
	// addresses are those of the gateways beside the first.
	addresses []string
	// offset is how far the gateway's clock is ahead of the machine's.
	offset time.Duration
	stderr *said
}

// patience bounds a story. Nothing is measured against it.
const patience = 2 * time.Minute

func newWorld(t *testing.T, p place, s setup) *world {
	t.Helper()
	w := prepare(t, p, s)
	w.start()
	return w
}

// prepare starts the provider and writes the configuration; no gateway runs yet.
func prepare(t *testing.T, p place, s setup) *world {
	t.Helper()
	d, dir := p.door, t.TempDir()
	fixture, err := faultkit.StartFixture(context.Background(), []string{built.fixture}, filepath.Join(dir, "provider"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, door: d, replicas: max(1, p.replicas), fixture: fixture, stderr: &said{}}
	t.Cleanup(w.end)
	upstream := s.upstream
	switch {
	case upstream != nil:
	case s.url || !s.command && !d.stdio():
		upstream = map[string]any{"url": fixture.MCP}
	default:
		upstream = map[string]any{"command": fixture.Upstream()}
	}
	// A provider that answers does so within the time-out on any machine; the
	// stories of one that does not set a short one.
	defaults := map[string]any{"lease": "5s", "timeout": "20s", "late": "2s"}
	maps.Copy(defaults, s.defaults)
	tools := map[string]any{}
	for name, rules := range s.tools {
		tools["shop/"+name] = rules
	}
	config := map[string]any{
		"ledger": w.place(p.ledger, dir), "defaults": defaults, "tools": tools,
	}
	if d.kind == proxied {
		delete(config, "tools")
		config["http"], config["routes"] = map[string]any{"shop": map[string]any{"url": fixture.Tools}}, routes(s.tools)
	}
	maps.Copy(config, s.gateway)
	w.gateway = faultkit.Gateway{
		Binary: built.plain, Wrap: s.wrap, Config: filepath.Join(dir, "deed.yaml"), Upstream: "shop", Door: d.process(), Version: d.version, Stderr: w.stderr,
	}
	if s.skewed {
		w.gateway.Binary = built.skewed
	}
	if !d.stdio() {
		w.gateway.Address = process.FreeAddress(t)
		config["listen"] = w.gateway.Address
	}
	w.config = config
	w.reconfigure(upstream)
	return w
}

// reconfigure writes the configuration with another upstream.
func (w *world) reconfigure(upstream map[string]any) {
	w.Helper()
	if w.door.kind == proxied {
		// The process is asked over MCP whether it is there; nothing else is.
		w.config["upstreams"] = map[string]any{"idle": map[string]any{"url": w.fixture.MCP}}
		w.gateway.Upstream = "idle"
	} else {
		w.config["upstreams"] = map[string]any{"shop": upstream}
	}
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
	if text := w.stderr.String(); w.Failed() && text != "" {
		w.Logf("the gateway said:\n%s", text)
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
