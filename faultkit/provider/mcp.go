// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// The protocol versions that the fixture speaks.
const (
	modernVersion  = "2026-07-28"
	latestLegacy   = "2025-11-25"
	previousLegacy = "2025-06-18"
	versionMeta    = "io.modelcontextprotocol/protocolVersion"
)

// message is a JSON-RPC message, split no further than routing needs.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// Answer is what goes back for one JSON-RPC message.
type Answer struct {
	// Line is the JSON-RPC answer without its newline; empty when there is none.
	Line []byte `json:"line,omitempty"`
	// Delivery says how much of the line the caller sees.
	Delivery Delivery `json:"delivery,omitempty"`
	// Status and RetryAfter replace the line over HTTP.
	Status     int `json:"status,omitempty"`
	RetryAfter int `json:"retry_after,omitempty"`
}

// toolCall are the members of tools/call that the fixture reads.
type toolCall struct {
	Name         string          `json:"name"`
	Arguments    json.RawMessage `json:"arguments"`
	Meta         json.RawMessage `json:"_meta"`
	RequestState string          `json:"requestState"`
}

// Message answers one JSON-RPC message. Transport is stdio or mcp, key an
// Idempotency-Key header, if any. Notifications get no line.
func (p *Provider) Message(ctx context.Context, raw []byte, transport, key string) Answer {
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		return Answer{Line: errorLine(json.RawMessage("null"), &RPCError{Code: -32700, Message: "Parse error"})}
	}
	if len(m.ID) == 0 || m.Method == "" {
		return Answer{}
	}
	version := modernRequest(m.Params)
	modern := version != ""
	if modern && version != modernVersion {
		return Answer{Line: errorLine(m.ID, &RPCError{
			Code: -32022, Message: "Unsupported protocol version",
			Data: map[string]any{"supported": []string{modernVersion, latestLegacy, previousLegacy}, "requested": version},
		})}
	}
	if m.Method != "tools/call" {
		result, err := p.method(m, modern)
		if err != nil {
			return Answer{Line: errorLine(m.ID, err)}
		}
		return Answer{Line: resultLine(m.ID, result, modern)}
	}
	var call toolCall
	if err := json.Unmarshal(m.Params, &call); err != nil {
		return Answer{Line: errorLine(m.ID, &RPCError{Code: -32602, Message: "Invalid params"})}
	}
	reply := p.Call(ctx, Call{
		Tool: call.Name, Arguments: call.Arguments, Transport: transport, Key: key, Meta: call.Meta, RequestState: call.RequestState,
	})
	return render(m.ID, reply, modern)
}

// render puts a reply into JSON-RPC words.
func render(id json.RawMessage, r Reply, modern bool) Answer {
	a := Answer{Delivery: r.Delivery, Status: r.Status, RetryAfter: r.RetryAfter}
	switch {
	case r.Delivery == Dropped:
	case r.Error != nil:
		a.Line = errorLine(id, r.Error)
	case r.Status != 0:
		a.Line = errorLine(id, statusError(r))
	case !modern && (r.Question != "" || r.Handle != nil):
		a.Line = errorLine(id, &RPCError{Code: -32603, Message: "this fault needs a client of protocol version " + modernVersion})
	case r.Question != "":
		a.Line = resultLine(id, map[string]any{
			"resultType": "input_required", "requestState": r.Question,
			"inputRequests": map[string]any{"confirm": map[string]any{
				"method": "elicitation/create",
				"params": map[string]any{
					"mode": "form", "message": "Really?",
					"requestedSchema": map[string]any{"type": "object", "properties": map[string]any{"sure": map[string]any{"type": "boolean"}}},
				},
			}},
		}, true)
	case r.Handle != nil:
		state := r.Handle.wire()
		state["resultType"] = "task"
		a.Line = resultLine(id, state, true)
	default:
		a.Line = resultLine(id, toolResult(r), modern)
	}
	return a
}

// statusError is an HTTP status in the words of a transport that has none.
func statusError(r Reply) *RPCError {
	switch {
	case r.Status == 404:
		return &RPCError{Code: -32001, Message: "Session not found"}
	case r.Status < 500:
		return &RPCError{Code: -32602, Message: fmt.Sprint("Invalid params: ", r.Structured["error"])}
	case r.RetryAfter > 0:
		return &RPCError{Code: -32603, Message: "Service unavailable", Data: map[string]any{"retryAfter": r.RetryAfter}}
	default:
		return &RPCError{Code: -32603, Message: "Internal error"}
	}
}

func toolResult(r Reply) map[string]any {
	if r.IsError {
		return map[string]any{"content": text(fmt.Sprint(r.Structured["error"])), "isError": true}
	}
	structured, err := json.Marshal(r.Structured)
	if err != nil {
		structured = []byte("{}")
	}
	return map[string]any{"content": text(string(structured)), "structuredContent": json.RawMessage(structured)}
}

func text(s string) []any { return []any{map[string]any{"type": "text", "text": s}} }

// method answers everything but tools/call.
func (p *Provider) method(m message, modern bool) (map[string]any, *RPCError) {
	switch {
	case m.Method == "initialize" && !modern:
		return initialize(m.Params), nil
	case m.Method == "server/discover" && modern:
		return cacheable(map[string]any{
			"supportedVersions": []string{modernVersion, latestLegacy, previousLegacy},
			"capabilities":      map[string]any{"tools": map[string]any{}, "extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}},
			"serverInfo":        serverInfo(),
		}), nil
	case m.Method == "ping":
		return map[string]any{}, nil
	case m.Method == "tools/list":
		list := map[string]any{"tools": p.listing()}
		if modern {
			cacheable(list)
		}
		return list, nil
	case m.Method == "tasks/get" && modern:
		var params struct {
			TaskID string `json:"taskId"`
		}
		_ = json.Unmarshal(m.Params, &params)
		t, ok := p.taskState(params.TaskID)
		if !ok {
			return nil, &RPCError{Code: -32602, Message: "Unknown task"}
		}
		return t.wire(), nil
	case m.Method == "tasks/cancel" && modern:
		return map[string]any{}, nil // the work goes on: cancelling is a wish
	}
	return nil, &RPCError{Code: -32601, Message: "Method not found: " + m.Method}
}

func initialize(params json.RawMessage) map[string]any {
	var wanted struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(params, &wanted)
	version := latestLegacy
	if wanted.ProtocolVersion == previousLegacy {
		version = previousLegacy
	}
	return map[string]any{
		"protocolVersion": version, "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": serverInfo(),
	}
}

func serverInfo() map[string]any { return map[string]any{"name": "deed-fixture", "version": "1"} }

func cacheable(result map[string]any) map[string]any {
	result["ttlMs"], result["cacheScope"] = 0, "private"
	return result
}

func (p *Provider) listing() []map[string]any {
	settings := p.Settings()
	list := []map[string]any{}
	for _, t := range Tools() {
		if t.ReadOnly && settings.Lookup == NoLookup {
			continue
		}
		list = append(list, t.listing(settings))
	}
	return list
}

// modernRequest returns the protocol version that a stateless request carries,
// or "" for a request of an older era.
func modernRequest(params json.RawMessage) string {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(params, &p)
	var version string
	_ = json.Unmarshal(p.Meta[versionMeta], &version)
	return version
}

func resultLine(id json.RawMessage, result map[string]any, modern bool) []byte {
	if modern {
		if _, set := result["resultType"]; !set {
			result["resultType"] = "complete"
		}
		result["_meta"] = map[string]any{"io.modelcontextprotocol/serverInfo": serverInfo()}
	}
	return line(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
}

func errorLine(id json.RawMessage, e *RPCError) []byte {
	return line(map[string]any{"jsonrpc": "2.0", "id": id, "error": e})
}

// line encodes without HTML escapes, as other servers do.
func line(value any) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"encode answer"}}`)
	}
	return bytes.TrimRight(buffer.Bytes(), "\n")
}
