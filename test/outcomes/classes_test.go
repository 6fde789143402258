// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcomes_test

import (
	"fmt"

	"github.com/deed-run/deed/faultkit"
)

// transport is how the gateway reaches the provider.
type transport string

const (
	byConnector transport = "connector"
	byURL       transport = "mcp-url"
	byCommand   transport = "mcp-stdio"
)

// class is a kind of provider, by what it offers to find lost effects again.
type class struct {
	name string
	// flags make the fixture such a provider.
	flags []string
	// entry is how the tool is guarded.
	entry func(transport) map[string]any
	// described is the same for a connector, in its own words.
	described string
	// settles: look-ups find out what happened, without anybody calling again.
	settles bool
}

const (
	// indexLag is by how much the provider's index lags, in milliseconds.
	indexLag = 6000
	// declaredLag is the worst lag that the configuration reckons with.
	declaredLag = "8s"
)

func classes() []class {
	return []class{
		{
			name: "natively-keyed", flags: []string{"--provider-key-support", "--lookup", "none"},
			entry: func(by transport) map[string]any {
				carrier := map[string]any{"header": "Idempotency-Key", "retention": "24h"}
				if by == byCommand {
					carrier = map[string]any{"meta": "idempotency_key", "retention": "24h"}
				}
				return map[string]any{"provider_key": carrier}
			},
			described: "    provider_key: {header: Idempotency-Key, retention: 24h}\n",
		},
		{
			name: "client-id", flags: []string{"--unique-ids"}, settles: true,
			entry: func(by transport) map[string]any {
				return map[string]any{
					"client_id": map[string]any{"into": "/client_id"}, "reconcile": reads(by, "{client_id}", "i.client_id == client_id", "i.token == client_id", "1s"),
				}
			},
			described: "    client_id: {into: /client_id}\n    reconcile: {lookup: ticket_search}\n",
		},
		{
			name: "findable-consistent", settles: true,
			entry: func(by transport) map[string]any {
				return map[string]any{
					"marker": map[string]any{"into": "/mark"}, "reconcile": reads(by, "{marker}", "i.mark == marker", "i.token == marker", "1s"),
				}
			},
			described: "    marker: {into: /mark}\n    reconcile: {lookup: ticket_search}\n",
		},
		{
			name: "findable-lagging", flags: []string{"--index-lag-ms", fmt.Sprint(indexLag)}, settles: true,
			entry: func(by transport) map[string]any {
				return map[string]any{
					"marker": map[string]any{"into": "/mark"}, "reconcile": reads(by, "{marker}", "i.mark == marker", "i.token == marker", declaredLag),
				}
			},
			described: "    marker: {into: /mark}\n    reconcile: {lookup: ticket_search}\n",
		},
		{
			name: "unfindable", flags: []string{"--lookup", "none"},
			entry: func(transport) map[string]any { return map[string]any{} },
		},
	}
}

// reads looks the effect up with the fixture's search, or with the connector's.
func reads(by transport, mark, inItem, inMatch, lag string) map[string]any {
	r := map[string]any{
		"tool": "./ticket_search", "args": map[string]any{"q": mark}, "lag": lag,
		"found": "result.structuredContent.items.filter(i, " + inItem + ")",
	}
	if by == byConnector {
		name := mark[1 : len(mark)-1]
		r["args"], r["found"] = map[string]any{name: mark}, "result.structuredContent.items.filter(i, "+inMatch+")"
	}
	return r
}

// configuration puts a gateway in front of a provider of the class. Where a
// refusal before any effect can be told from an error after one, it is declared.
func (c class) configuration(by transport, fixture *faultkit.Fixture) map[string]any {
	entry := c.entry(by)
	entry["effect"], entry["max_processing"] = "non_idempotent", "12s"
	config := map[string]any{
		"defaults": map[string]any{"lease": "4s", "timeout": "4s", "late": "1ms"},
		"tools":    map[string]any{"shop/ticket_create": entry},
	}
	switch by {
	case byConnector:
		config["connectors"] = map[string]any{"shop": map[string]any{"http": c.description(fixture.Tools)}}
		return config
	case byURL:
		entry["failed"] = []any{map[string]any{"status": 503, "retry_after_required": true}}
		config["upstreams"] = map[string]any{"shop": map[string]any{"url": fixture.MCP}}
	default:
		config["upstreams"] = map[string]any{"shop": map[string]any{"command": fixture.Upstream()}}
	}
	config["tools"].(map[string]any)["shop/ticket_search"] = map[string]any{"effect": "read_only"}
	return config
}
