// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// listing is a tools/list of the gateway's own; calls that come meanwhile wait for it.
type listing struct {
	ended chan struct{}
	err   error // once ended
}

const (
	maxPages    = 50
	askAgain    = 10 * time.Second
	listPatient = 15 * time.Second
)

// list asks the upstream for its list, at most every ten seconds, and waits for the answer; calls of every session wait for the same one.
// One that ended with another client's session is asked anew.
func (g *Gate) list(ctx context.Context, s *Session, h http.Header, params json.RawMessage) {
	for {
		mine, l := g.enlist(s.Upstream)
		switch {
		case l == nil:
			return
		case !mine:
			select {
			case <-l.ended:
			case <-ctx.Done():
				return
			}
			if errors.Is(l.err, ErrUpstreamClosed) {
				continue
			}
			return
		}
		// The list is for others too, so it goes on when this client leaves.
		l.err = g.ask(context.WithoutCancel(ctx), s, h, params)
		if l.err != nil {
			g.log(fmt.Sprintf("upstream %s: tools/list: %s", s.Upstream, deed.Whole(l.err)))
		}
		known := len(g.catalog.names(s.Upstream)) > 0
		g.catalog.mu.Lock()
		g.catalog.whole[s.Upstream] = known && l.err == nil
		delete(g.catalog.listing, s.Upstream)
		if errors.Is(l.err, ErrUpstreamClosed) {
			delete(g.catalog.asked, s.Upstream)
		}
		g.catalog.mu.Unlock()
		close(l.ended)
		return
	}
}

// enlist returns the listing to wait for, or a new one that is the caller's to carry out, or nil when the last is too recent.
func (g *Gate) enlist(upstream string) (mine bool, l *listing) {
	now := g.clock.Now()
	g.catalog.mu.Lock()
	defer g.catalog.mu.Unlock()
	if l := g.catalog.listing[upstream]; l != nil {
		return false, l
	}
	if last, ok := g.catalog.asked[upstream]; ok && now.Sub(last) < askAgain {
		return false, nil
	}
	l = &listing{ended: make(chan struct{})}
	g.catalog.asked[upstream], g.catalog.listing[upstream] = now, l
	return true, l
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

// names are the names of the tools that are known of an upstream: whoever reads the last page of a list has read the others before.
func (c *catalog) names(upstream string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for tool := range c.tools {
		if name, ours := strings.CutPrefix(string(tool), upstream+"/"); ours {
			names = append(names, name)
		}
	}
	return names
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
