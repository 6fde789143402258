// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"

	"github.com/deed-run/deed"
)

// CheckDefinition says what the inputSchema of a definition, such as a pinned one, finds wrong with arguments, or ""; false where the
// definition is none.
func CheckDefinition(definition json.RawMessage, arguments []byte) (wrong string, ok bool) {
	d, ok := define(definition)
	if !ok {
		return "", false
	}
	return d.schema.check(arguments), true
}

// Check says what a tool's inputSchema finds wrong with arguments that no call brought, such as those that a person edited, or "". Where
// nothing is known of the tool, its upstream is asked for its list over a link on which the session has been opened; without a link, and
// where the answer does not come, known is false and nothing was checked. meta, when not nil, is the _meta of the request.
func (g *Gate) Check(ctx context.Context, link Link, meta json.RawMessage, tool deed.Tool, arguments []byte) (wrong string, known bool) {
	d := g.lookup(tool)
	if link != nil && (d == nil || d.stale) {
		if params, err := paramsOf(deed.Call{Tool: tool, Arguments: arguments}, meta); err == nil {
			g.list(ctx, newSession(tool.Upstream(), "", deed.Principal{}, link, g), nil, params)
			d = g.lookup(tool)
		}
	}
	if d == nil || d.stale && link == nil {
		return "", false
	}
	return d.schema.check(arguments), true
}
