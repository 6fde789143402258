// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
	"github.com/deed-run/deed/outcome"
)

// What became of a created resource, as a replay tells it.
const (
	currentFound   = "found"
	currentGone    = "gone"
	currentUnknown = "unknown"
)

// currentWithin bounds how long a replay waits to say what became of what was created.
const currentWithin = 5 * time.Second

// read calls a read-only tool beside a call: over the session of the call where the tool is of the same upstream, else elsewhere.
func (g *Gate) read(ctx context.Context, s *Session, params json.RawMessage, tool deed.Tool, arguments []byte) ([]byte, error) {
	if tool.Upstream() != s.Upstream {
		if g.elsewhere == nil {
			return nil, fmt.Errorf("read %s: it is a tool of another upstream, which cannot be reached from here", tool)
		}
		return g.elsewhere(ctx, tool, arguments)
	}
	return g.probe(ctx, s, beside(params), tool, arguments)
}

// beside is the _meta for a request of the gateway's own that goes beside a client's call: in the stateless era every request needs it.
func beside(params json.RawMessage) json.RawMessage {
	meta, ok := rawjson.Get(params, "_meta")
	if !ok {
		return nil
	}
	rest, _, _, err := rawjson.Remove(meta, "progressToken")
	if err != nil {
		return nil
	}
	return rest
}

// revision returns what reads the version of what a call is about, nil where none is configured.
func (g *Gate) revision(s *Session, d *described, params json.RawMessage, arguments []byte) func(context.Context) (string, error) {
	rule := d.wiring.Revision
	if rule == nil {
		return nil
	}
	return func(ctx context.Context) (string, error) {
		wanted, err := rule.Arguments(arguments)
		if err != nil {
			return "", err
		}
		result, err := g.read(ctx, s, params, rule.Tool, wanted)
		if err != nil {
			return "", err
		}
		return rule.Value(result)
	}
}

// missing is how providers say that there is no such object.
var missing = regexp.MustCompile(`(?i)\b(not[ _-]?found|no such|does not exist|doesn't exist|404|410|gone|was deleted|has been deleted)\b`)

// current fills in what became of a created resource where a replay is about one.
func (g *Gate) current(ctx context.Context, s *Session, d *described, params json.RawMessage, answer *deed.Answer) {
	rule, op := d.wiring.Resource, answer.Operation
	if rule == nil || answer.Decision != deed.Replay || op == nil || op.Receipt() == nil || op.Key.Family != deed.FamilyCreation {
		return
	}
	answer.Current = currentUnknown
	if op.UpstreamIdentity != d.identity() {
		return // it was created elsewhere
	}
	wanted, err := rule.Arguments(*op.Receipt())
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, currentWithin)
	defer cancel()
	_, err = g.read(ctx, s, params, rule.Tool, wanted)
	var said *ReadError
	switch {
	case err == nil:
		answer.Current = currentFound
	case errors.As(err, &said) && missing.MatchString(outcome.Text(said.Result)):
		answer.Current = currentGone
	}
}

// identity is where the tool's effects go now.
func (d *described) identity() string {
	if d.rule.Account != "" {
		return d.rule.Account
	}
	return d.facts.UpstreamIdentity
}
