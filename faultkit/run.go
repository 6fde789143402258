// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed/internal/loopback"
)

// Options configure a run of the built-in suite.
type Options struct {
	// Binary is the path of the gateway.
	Binary string
	// Fixture is a command that runs FixtureMain.
	Fixture []string
	// Dir keeps ledgers and configurations; empty means a temporary directory
	// that is removed at the end.
	Dir string
	// Door is how the gateway is reached; empty means Stdio. The upstream uses
	// the same transport.
	Door Door
	// Version is caller.Legacy or caller.Modern; empty means Legacy.
	Version string
	// CrashPoints adds the scenarios of CrashPoints.
	CrashPoints bool
	// Only limits the run to the scenarios of these names.
	Only []string
	// Patience bounds one scenario; 0 means one minute.
	Patience time.Duration
	// Env is added to the gateway's environment.
	Env []string
	// Stderr receives what the gateway says; nil discards it.
	Stderr io.Writer
	// Observe, if set, is told each row as soon as it is known.
	Observe func(Row)

	// defaults overrides entries of the configuration's defaults.
	defaults map[string]any
}

// Run plays the built-in scenarios one after the other. A broken promise is a row
// in the report, not an error; an error means that nothing could be judged.
func Run(ctx context.Context, o Options) (Report, error) {
	o, clean, err := o.prepare()
	if err != nil {
		return Report{}, err
	}
	defer clean()
	report := Report{Door: o.Door}
	for _, s := range o.scenarios() {
		if len(o.Only) > 0 && !slices.Contains(o.Only, s.Name) || len(s.Doors) > 0 && !slices.Contains(s.Doors, o.Door) {
			continue
		}
		row := o.play(ctx, s)
		if row.Verdict == Broken && ctx.Err() != nil {
			return report, ctx.Err()
		}
		report.Rows = append(report.Rows, row)
		if o.Observe != nil {
			o.Observe(row)
		}
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
	}
	return report, nil
}

// prepare checks the options, fills the gaps and makes the directory.
func (o Options) prepare() (Options, func(), error) {
	if o.Binary == "" || len(o.Fixture) == 0 {
		return o, nil, errors.New("run scenarios: no gateway binary or no fixture command: nothing was started; set Options.Binary and Options.Fixture")
	}
	for _, name := range o.Only {
		if !slices.ContainsFunc(o.scenarios(), func(s Scenario) bool { return s.Name == name }) {
			return o, nil, fmt.Errorf("run scenarios: there is no scenario %q: nothing was started; there are %s", name, strings.Join(o.names(), ", "))
		}
	}
	if o.Door == "" {
		o.Door = Stdio
	}
	if o.Patience == 0 {
		o.Patience = time.Minute
	}
	if o.Dir != "" {
		return o, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "deed-prove-")
	if err != nil {
		return o, nil, fmt.Errorf("run scenarios: %w", err)
	}
	o.Dir = dir
	return o, func() { _ = os.RemoveAll(dir) }, nil
}

func (o Options) scenarios() []Scenario {
	if o.CrashPoints {
		return append(Scenarios(), CrashPoints()...)
	}
	return Scenarios()
}

func (o Options) names() []string {
	var list []string
	for _, s := range o.scenarios() {
		list = append(list, s.Name)
	}
	return list
}

// play sets the stage, plays, judges and clears the stage.
func (o Options) play(ctx context.Context, s Scenario) Row {
	ctx, cancel := context.WithTimeout(ctx, o.Patience)
	defer cancel()
	broken := func(err error) Row {
		return Row{Scenario: s.Name, Asks: s.Asks, Requests: Unknown, Effects: Unknown, Verdict: Broken, Problems: []string{err.Error()}}
	}
	st, err := o.stage(ctx, s.Name)
	if err != nil {
		return broken(err)
	}
	played := st.start(ctx)
	if played == nil {
		played = s.play(ctx, st)
	}
	row := st.finish(ctx, s, played)
	if err := errors.Join(st.stop(), st.clear()); err != nil && row.Verdict == Pass {
		row.Verdict, row.Problems = Wrong, append(row.Problems, err.Error())
	}
	return row
}

// stage starts a provider and writes the gateway's configuration.
func (o Options) stage(ctx context.Context, name string) (*stage, error) {
	dir := filepath.Join(o.Dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("set the stage: %w", err)
	}
	fixture, err := StartFixture(ctx, o.Fixture, filepath.Join(dir, "provider"))
	if err != nil {
		return nil, err
	}
	upstream := map[string]any{"command": fixture.Upstream()}
	if o.Door == HTTP {
		upstream = map[string]any{"url": fixture.MCP}
	}
	c := fixtureConfig(ledgerPath(dir), upstream)
	maps.Copy(c["defaults"].(map[string]any), o.defaults)
	g := Gateway{
		Binary: o.Binary, Config: filepath.Join(dir, "deed.yaml"), Upstream: upstreamName,
		Door: o.Door, Version: o.Version, Env: o.Env, Stderr: o.Stderr,
	}
	st := &stage{fixture: fixture, op: "order-1042", key: "prove:" + name + ":order-1042"}
	if o.Door == HTTP {
		if st.port, err = loopback.Reserve(); err != nil {
			return nil, errors.Join(err, st.clear())
		}
		g.Address = st.port.Address()
		c["listen"] = g.Address
	}
	st.gateway = g
	if err := c.write(g.Config); err != nil {
		return nil, errors.Join(err, st.clear())
	}
	return st, nil
}
