// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// Tracing carries W3C trace context between the _meta of a client's request, the calls of the Ledger, and the _meta of what goes upstream.
// Methods must return quickly.
type Tracing interface {
	// Received is given the members traceparent, tracestate and baggage that a tools/call has in _meta, and returns the context that the
	// Ledger is called with.
	Received(ctx context.Context, meta map[string]string) context.Context
	// Sending is called after the Ledger has granted the call, with a context of Received, and may change those members for the upstream.
	// With meta left as it is the request keeps its bytes.
	Sending(ctx context.Context, meta map[string]string)
}

// traceMembers are the members of _meta that MCP reserves for trace context (SEP-414).
var traceMembers = [...]string{"traceparent", "tracestate", "baggage"}

func traceOf(params json.RawMessage) map[string]string {
	meta := map[string]string{}
	for _, name := range traceMembers {
		if text, ok := rawjson.Text(params, "_meta", name); ok {
			meta[name] = text
		}
	}
	return meta
}

func (g *Gate) received(ctx context.Context, params json.RawMessage) context.Context {
	if g.trace == nil {
		return ctx
	}
	return g.trace.Received(ctx, traceOf(params))
}

// sending edits the trace context of params. What cannot be edited goes on as it is: a trace is worth no call.
func (g *Gate) sending(ctx context.Context, params json.RawMessage) json.RawMessage {
	if g.trace == nil {
		return params
	}
	before := traceOf(params)
	meta := maps.Clone(before)
	g.trace.Sending(ctx, meta)
	edited := params
	for _, name := range traceMembers {
		text, has := meta[name]
		var err error
		switch old, had := before[name]; {
		case has && (!had || old != text):
			edited, err = rawjson.Set(edited, rawjson.Quote(text), "_meta", name)
		case had && !has:
			edited, _, _, err = rawjson.Remove(edited, "_meta", name)
		}
		if err != nil {
			return params
		}
	}
	return edited
}
