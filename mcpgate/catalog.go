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
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// catalog holds what the upstreams said of their tools last.
type catalog struct {
	mu    sync.Mutex
	tools map[deed.Tool]*described
	asked map[string]time.Time // by upstream: when the gateway itself asked for the list
}

// described is a definition with what follows from it.
type described struct {
	*Definition
	facts deed.ToolFacts
	rule  deed.Rule
	stale bool // the upstream says that its tools have changed since
}

const (
	maxPages    = 50
	askAgain    = 10 * time.Second
	listPatient = 15 * time.Second
)

// adds reports whether deed adds the key argument to the tool's schema.
func (d *described) adds() bool {
	return d != nil && d.rule.Mutates() && !d.OwnKey && d.rule.Key.Need != deed.NeedRuntime && len(d.rule.Key.From) == 0 &&
		d.rule.Identity != deed.FamilySecret
}

func (g *Gate) lookup(tool deed.Tool) *described {
	g.catalog.mu.Lock()
	defer g.catalog.mu.Unlock()
	return g.catalog.tools[tool]
}

// learn takes a tool of an upstream's list.
func (g *Gate) learn(s *Session, raw json.RawMessage) *described {
	d, ok := define(raw)
	if !ok {
		return nil
	}
	tool := deed.Tool(s.Upstream + "/" + d.Name)
	g.catalog.mu.Lock()
	known := g.catalog.tools[tool]
	g.catalog.mu.Unlock()
	if known != nil && known.Digest == d.Digest && known.Description == d.Description && !known.facts.Quarantined && !known.stale {
		return known
	}
	return g.describe(tool, d)
}

func (g *Gate) describe(tool deed.Tool, d *Definition) *described {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	quarantined, warning := g.pins.Check(ctx, tool, d)
	if warning != "" {
		g.log(warning)
	}
	entry := &described{Definition: d, facts: deed.ToolFacts{
		Definition: d.Digest, ReadOnlyHint: d.ReadOnlyHint, DestructiveHint: d.DestructiveHint, IdempotentHint: d.IdempotentHint,
		UpstreamIdentity: g.upstreamIdentity(tool.Upstream()), Quarantined: quarantined,
	}}
	entry.rule = g.policy.Rule(tool, entry.facts)
	g.catalog.mu.Lock()
	g.catalog.tools[tool] = entry
	g.catalog.mu.Unlock()
	return entry
}

// find returns what is known of a tool; where nothing is, the upstream is asked for its list first, at most every ten seconds. A
// quarantined tool is looked at again, because another process may have accepted it.
func (g *Gate) find(ctx context.Context, s *Session, name string, h http.Header, params json.RawMessage) *described {
	tool := deed.Tool(s.Upstream + "/" + name)
	d := g.lookup(tool)
	if d != nil && d.facts.Quarantined {
		d = g.describe(tool, d.Definition)
	}
	if (d == nil || d.stale) && g.mayAsk(s.Upstream) {
		if err := g.ask(ctx, s, h, params); err != nil {
			g.log(fmt.Sprintf("upstream %s: tools/list: %v", s.Upstream, err))
		}
		d = g.lookup(tool)
	}
	if d == nil {
		d = &described{Definition: &Definition{Name: name}, facts: deed.ToolFacts{UpstreamIdentity: g.upstreamIdentity(s.Upstream)}}
		d.rule = g.policy.Rule(tool, d.facts)
	}
	return d
}

// Changed makes the next call of each tool look at the upstream's list first.
func (g *Gate) Changed(upstream string) {
	g.catalog.mu.Lock()
	defer g.catalog.mu.Unlock()
	delete(g.catalog.asked, upstream)
	for tool, d := range g.catalog.tools {
		if tool.Upstream() == upstream {
			old := *d
			old.stale = true
			g.catalog.tools[tool] = &old
		}
	}
}

func (g *Gate) mayAsk(upstream string) bool {
	now := g.clock.Now()
	g.catalog.mu.Lock()
	defer g.catalog.mu.Unlock()
	if last, ok := g.catalog.asked[upstream]; ok && now.Sub(last) < askAgain {
		return false
	}
	g.catalog.asked[upstream] = now
	return true
}

// ask reads all pages of tools/list over the client's session. In the stateless era the request carries the _meta that the client's own
// call carried, because every request needs it.
func (g *Gate) ask(ctx context.Context, s *Session, h http.Header, params json.RawMessage) error {
	ctx, cancel := context.WithTimeout(ctx, listPatient)
	defer cancel()
	base := []byte("{}")
	if meta, ok := rawjson.Get(params, "_meta"); ok {
		if rest, _, _, err := rawjson.Remove(meta, "progressToken"); err == nil {
			base, _ = rawjson.Set(base, rest, "_meta")
		}
	}
	var cursor json.RawMessage
	for range maxPages {
		page := base
		if cursor != nil {
			page, _ = rawjson.Set(page, cursor, "cursor")
		}
		done := make(chan Reply, 1)
		s.Link.Send(ctx, &Exchange{
			Message: RequestMessage(g.ownID(), "tools/list", page), Header: ownHeader(h, "tools/list"),
			Event: func(Event) {}, Done: func(r Reply) { done <- r },
		})
		r := <-done
		if r.Delivery != Answered || r.Message.Result == nil {
			if r.Err == nil {
				r.Err = fmt.Errorf("the upstream answered with an error: %s", r.Message.Error)
			}
			return r.Err
		}
		g.Tools(s, r.Message.Result)
		next, ok := rawjson.Get(r.Message.Result, "nextCursor")
		if !ok || string(next) == "null" {
			return nil
		}
		cursor = next
	}
	return fmt.Errorf("more than %d pages", maxPages)
}

// ownHeader makes the headers for a request of the gateway's own from those of the client's.
func ownHeader(h http.Header, method string) http.Header {
	if h == nil {
		return nil
	}
	own := http.Header{}
	for name, values := range h {
		own[name] = values
	}
	for name := range own {
		if len(name) > len(paramHeader) && name[:len(paramHeader)] == paramHeader {
			delete(own, name)
		}
	}
	own.Del("Mcp-Name")
	if own.Get("Mcp-Method") != "" {
		own.Set("Mcp-Method", method)
	}
	return own
}

const paramHeader = "Mcp-Param-"
