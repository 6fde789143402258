// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/policy"
)

// errAnswered: the server is there, and does not know the request.
var errAnswered = errors.New("answered with an error")

// maxListPages bounds how far a list is followed.
const maxListPages = 50

// ListTools asks an upstream for its tools, without a ledger and without calling
// any. It starts the server where the upstream is a command, and ends it.
func ListTools(ctx context.Context, up mcpgate.Upstream, name string) ([]policy.ListedTool, error) {
	link := up.Open(func(mcpgate.Event) {}, false)
	l := listing{ctx: ctx, link: link, upstream: name}
	tools, err := l.run()
	if closed := link.Close(); err == nil && closed != nil {
		err = closed
	}
	if err != nil {
		return nil, fmt.Errorf("upstream %s: %w", name, err)
	}
	return tools, nil
}

// listing is one conversation with an upstream.
type listing struct {
	ctx      context.Context
	link     mcpgate.Link
	upstream string
	serial   int
	modern   bool
}

// modernMeta is what every request of the stateless era carries (MCP
// 2026-07-28).
const modernMeta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"deed","version":"1"}}`

func (l *listing) run() ([]policy.ListedTool, error) {
	const hello = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"deed","version":"1"}}`
	var silent error
	if _, err := l.request("initialize", json.RawMessage(hello)); err != nil {
		// A server of the stateless era has no handshake. One that is not there is told
		// by what it did first.
		l.modern = true
		if !errors.Is(err, errAnswered) {
			silent = err
		}
	} else if notice, err := mcpgate.ParseMessage([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err == nil {
		l.link.Send(l.ctx, &mcpgate.Exchange{Message: notice})
	}
	var tools []policy.ListedTool
	cursor := ""
	for range maxListPages {
		result, err := l.request("tools/list", l.params(cursor))
		if err != nil {
			return nil, cmp.Or(silent, err)
		}
		var page struct {
			Tools      []listedTool `json:"tools"`
			NextCursor string       `json:"nextCursor"`
		}
		if err := json.Unmarshal(result, &page); err != nil {
			return nil, fmt.Errorf("tools/list: %w", err)
		}
		for _, tool := range page.Tools {
			tools = append(tools, tool.listed(l.upstream))
		}
		if cursor = page.NextCursor; cursor == "" {
			return tools, nil
		}
	}
	return nil, fmt.Errorf("tools/list: more than %d pages", maxListPages)
}

func (l *listing) params(cursor string) json.RawMessage {
	params := map[string]any{}
	if cursor != "" {
		params["cursor"] = cursor
	}
	if l.modern {
		params["_meta"] = json.RawMessage(modernMeta)
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}

// request sends one request and waits for its result.
func (l *listing) request(method string, params json.RawMessage) (json.RawMessage, error) {
	l.serial++
	done := make(chan mcpgate.Reply, 1)
	l.link.Send(l.ctx, &mcpgate.Exchange{
		Message: mcpgate.RequestMessage(json.RawMessage(fmt.Sprint(l.serial)), method, params),
		Event:   func(mcpgate.Event) {}, Done: func(r mcpgate.Reply) { done <- r },
	})
	r := <-done
	switch {
	case r.Delivery != mcpgate.Answered || r.Err != nil:
		return nil, fmt.Errorf("%s: no answer: %w", method, r.Err)
	case r.Message.Result == nil:
		return nil, fmt.Errorf("%s: %w: %s", method, errAnswered, r.Message.Error)
	}
	return r.Message.Result, nil
}

// listedTool is what matters here of a tool's definition.
type listedTool struct {
	Name        string `json:"name"`
	Annotations struct {
		ReadOnlyHint    *bool `json:"readOnlyHint"`
		DestructiveHint *bool `json:"destructiveHint"`
		IdempotentHint  *bool `json:"idempotentHint"`
	} `json:"annotations"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// listed takes the definition for pinned: the gateway pins what it meets first.
func (t listedTool) listed(upstream string) policy.ListedTool {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	// Names of arguments are for advice: of a schema that is none, there are none.
	_ = json.Unmarshal(t.InputSchema, &schema)
	return policy.ListedTool{
		Tool: deed.Tool(upstream + "/" + t.Name),
		Facts: deed.ToolFacts{
			Definition: "listed", ReadOnlyHint: t.Annotations.ReadOnlyHint,
			DestructiveHint: t.Annotations.DestructiveHint, IdempotentHint: t.Annotations.IdempotentHint,
		},
		Arguments: slices.Sorted(maps.Keys(schema.Properties)), Schema: t.InputSchema,
	}
}
