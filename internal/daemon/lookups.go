// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/policy"
	"github.com/deed-run/deed/reconcile"
)

// lookups finds out what became of operations: by the read that the tool's
// configuration names, or by whatever made the tool, if that can look.
type lookups struct{ core *Core }

// reconciler is the deed.Reconciler of the configuration, nil when nothing in
// it can be looked up.
func (c *Core) reconciler() deed.Reconciler {
	l := lookups{c}
	if len(c.locals) > 0 {
		return reconcile.Tools(l.strategy)
	}
	for tool := range c.Config.Tools {
		if c.Config.ToolSettings(tool).Probe != nil {
			return reconcile.Tools(l.strategy)
		}
	}
	for _, route := range c.Config.Routes {
		if c.Config.ToolSettings(route.Name()).Probe != nil {
			return reconcile.Tools(l.strategy)
		}
	}
	return nil
}

// strategy is how operations of a tool are looked up: what was configured
// first, then what the tool's maker knows.
func (l lookups) strategy(tool deed.Tool) reconcile.Strategy {
	var ladder reconcile.Ladder
	if probe := l.core.Config.ToolSettings(tool).Probe; probe != nil {
		ladder = append(ladder, toolProbe{probe, l.core.read})
	}
	if local := l.core.locals[tool.Upstream()]; local != nil {
		if looker, ok := local.(deed.Reconciler); ok {
			ladder = append(ladder, makerProbe{tool.Upstream(), looker})
		}
	}
	switch len(ladder) {
	case 0:
		return nil
	case 1:
		return asPlanted{ladder[0], l.core.Config}
	}
	return asPlanted{ladder, l.core.Config}
}

// asPlanted takes no absence for one where the marks were written elsewhere than
// they are now: the configuration of a look-up goes with that of its marks.
type asPlanted struct {
	reconcile.Strategy
	config *policy.Config
}

func (p asPlanted) Probe(ctx context.Context, q deed.Inquest) (deed.Verdict, error) {
	v, err := p.Strategy.Probe(ctx, q)
	if err == nil && v.Kind == deed.VerdictAbsent && !p.config.Planted(q.Operation.Tool, q.Operation.Arguments, q.Marks) {
		v.Kind = deed.VerdictUndetermined
		v.Evidence += "; its marks were written into another place than the configuration names now, where the look-up may not look"
	}
	return v, err
}

// toolProbe looks up with a read-only tool.
type toolProbe struct {
	probe *policy.Probe
	read  func(ctx context.Context, tool deed.Tool, arguments []byte) ([]byte, error)
}

func (p toolProbe) Name() string { return "tool:" + string(p.probe.Tool) }

func (p toolProbe) Probe(ctx context.Context, q deed.Inquest) (deed.Verdict, error) {
	return p.probe.LookUp(ctx, q, p.read)
}

// makerProbe looks up with what the tool is made of.
type makerProbe struct {
	name string
	deed.Reconciler
}

func (p makerProbe) Name() string { return "connector:" + p.name }

// errUnreachable: no upstream of that name is configured.
var errUnreachable = errors.New("its upstream is not configured")

// read calls a read-only tool of any configured upstream for the gateway
// itself.
func (c *Core) read(ctx context.Context, tool deed.Tool, arguments []byte) ([]byte, error) {
	l, meta, err := c.calls.open(ctx, tool.Upstream())
	if err != nil {
		return nil, fmt.Errorf("look up with %s: %w; nothing was sent", tool, err)
	}
	return c.gate.Probe(ctx, l, meta, tool, arguments)
}

// wiring is what the gate is told of a tool beside its rule.
func (c *Core) wiring(tool deed.Tool) mcpgate.Wiring {
	s := c.Config.ToolSettings(tool)
	_, named := c.Config.Tools[tool]
	w := mcpgate.Wiring{Named: named, KeyArgument: s.OwnKeyArgument, KeyHeader: s.KeyHeader, KeyMeta: s.KeyMeta}
	if s.Probe != nil {
		w.Look = s.Probe.Tool
	}
	if s.Resource != nil {
		w.Resource = &mcpgate.Resource{Tool: s.Resource.Get, Arguments: s.Resource.Arguments}
	}
	if s.Subject != nil {
		w.Revision = &mcpgate.Revision{Tool: s.Subject.Tool, Arguments: s.Subject.Arguments, Value: s.Subject.Value}
	}
	return w
}
