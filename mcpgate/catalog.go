// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

// catalog holds what the upstreams said of their tools last.
type catalog struct {
	mu      sync.Mutex
	tools   map[deed.Tool]*described
	whole   map[string]bool      // by upstream: its list was read to the end, and is not empty
	asked   map[string]time.Time // by upstream: when the gateway itself asked for the list
	listing map[string]*listing  // by upstream: the gateway's own request for the list that is under way
}

// described is a definition with what follows from it.
type described struct {
	*Definition
	facts  deed.ToolFacts
	rule   deed.Rule
	wiring Wiring
	own    string // the argument of its own schema that carries the key
	stale  bool   // the upstream says that its tools have changed since
	// unlisted: its upstream was asked, and does not list it; nor does the configuration name it.
	unlisted bool
	// unpinned: its pinned definition could not be read, so nobody knows whether it has changed.
	unpinned bool
}

// pinPatient bounds the reading of a list's pins.
const pinPatient = 5 * time.Second

// adds reports whether deed adds the key argument to the tool's schema.
func (d *described) adds() bool {
	return d != nil && d.rule.Mutates() && d.own == "" && d.rule.Key.Need != deed.NeedRuntime && len(d.rule.Key.From) == 0 &&
		d.rule.Identity != deed.FamilySecret
}

func (g *Gate) lookup(tool deed.Tool) *described {
	g.catalog.mu.Lock()
	defer g.catalog.mu.Unlock()
	return g.catalog.tools[tool]
}

// learn takes a tool of an upstream's list.
func (g *Gate) learn(s *Session, raw json.RawMessage, pins *pinReading) *described {
	d, ok := define(raw)
	if !ok {
		return nil
	}
	tool := deed.Tool(s.Upstream + "/" + d.Name)
	known := g.lookup(tool)
	if known != nil && known.Digest == d.Digest && known.Description == d.Description && !known.facts.Quarantined && !known.stale && !known.unpinned {
		return known
	}
	return g.describe(tool, d, pins)
}

// pinReading reads the pins of one list within one deadline. After the first that cannot be read the rest are not tried: the ledger that
// could not give one would not give the others either, and each would take as long.
type pinReading struct {
	ctx    context.Context
	stop   context.CancelFunc
	failed bool
}

func readPins() *pinReading {
	ctx, stop := context.WithTimeout(context.Background(), pinPatient)
	return &pinReading{ctx: ctx, stop: stop}
}

func (g *Gate) describe(tool deed.Tool, d *Definition, pins *pinReading) *described {
	quarantined := false
	if !pins.failed {
		isQuarantined, warning, err := g.pins.Check(pins.ctx, tool, d)
		quarantined, pins.failed = isQuarantined, err != nil
		if err != nil {
			warning = fmt.Sprintf("upstream %s: the pinned definitions of its tools cannot be read, so none that changes things is called: %v", tool.Upstream(), err)
		}
		if warning != "" {
			g.log(warning)
		}
	}
	if before := g.lookup(tool); pins.failed && before != nil && before.Digest == d.Digest {
		quarantined = before.facts.Quarantined
	}
	entry := &described{Definition: d, unpinned: pins.failed, facts: deed.ToolFacts{
		Definition: d.Digest, ReadOnlyHint: d.ReadOnlyHint, DestructiveHint: d.DestructiveHint, IdempotentHint: d.IdempotentHint,
		UpstreamIdentity: g.upstreamIdentity(tool.Upstream()), Quarantined: quarantined,
	}}
	entry.rule, entry.wiring = g.policy.Rule(tool, entry.facts), g.wiring(tool)
	entry.own = ownKey(d, entry.wiring)
	g.catalog.mu.Lock()
	g.catalog.tools[tool] = entry
	g.catalog.mu.Unlock()
	return entry
}

// find returns what is known of a tool; where nothing is, the upstream is asked for its list first. A quarantined tool is looked at again,
// because another process may have accepted it, and so is one that changes things and whose pin could not be read.
func (g *Gate) find(ctx context.Context, s *Session, name string, h http.Header, params json.RawMessage) *described {
	tool := deed.Tool(s.Upstream + "/" + name)
	d := g.lookup(tool)
	if d != nil && (d.facts.Quarantined || d.unpinned && d.rule.Mutates()) {
		pins := readPins()
		d = g.describe(tool, d.Definition, pins)
		pins.stop()
	}
	if d == nil || d.stale {
		g.list(ctx, s, h, params)
		d = g.lookup(tool)
	}
	if d == nil {
		d = &described{Definition: &Definition{Name: name}, facts: deed.ToolFacts{UpstreamIdentity: g.upstreamIdentity(s.Upstream)}}
		d.rule, d.wiring = g.policy.Rule(tool, d.facts), g.wiring(tool)
		d.unlisted = g.listsAll(s.Upstream) && !d.wiring.Named
	}
	return d
}

// listsAll reports whether the upstream's list was read to its end and the upstream has not said since that it changed.
func (g *Gate) listsAll(upstream string) bool {
	g.catalog.mu.Lock()
	defer g.catalog.mu.Unlock()
	return g.catalog.whole[upstream]
}

// validate checks the arguments of a call that would begin something. A tool that nobody knows begins nothing: no rule, no limit and no
// consent could have been meant for it, and some servers take any name. What was begun before it left the list is answered as ever.
func (d *described) validate() func(arguments []byte) string {
	if !d.unlisted {
		return d.schema.check
	}
	return func([]byte) string {
		return fmt.Sprintf("unknown tool: the server lists no %s, and deed.yaml does not name it, so nothing is known of what it does; ask for the list of tools again", plain(d.Name, 100))
	}
}

// Changed makes the next call of each tool look at the upstream's list first.
func (g *Gate) Changed(upstream string) {
	g.catalog.mu.Lock()
	defer g.catalog.mu.Unlock()
	delete(g.catalog.asked, upstream)
	delete(g.catalog.whole, upstream)
	for tool, d := range g.catalog.tools {
		if tool.Upstream() == upstream {
			old := *d
			old.stale = true
			g.catalog.tools[tool] = &old
		}
	}
}
