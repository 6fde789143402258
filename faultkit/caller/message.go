// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package caller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// The protocol versions that the client speaks.
const (
	Modern = "2026-07-28"
	Legacy = "2025-11-25"
)

// ErrNoAnswer says that the server or the connection ended before an answer
// came: what became of the request is unknown.
var ErrNoAnswer = errors.New("no answer came back")

// Call is one tools/call.
type Call struct {
	Tool string
	// Arguments is the JSON object as it is to be sent.
	Arguments json.RawMessage
	// Meta is merged into _meta.
	Meta map[string]any
	// RequestState and InputResponses continue a request that asked a question.
	RequestState   string
	InputResponses map[string]any
}

// RPCError is a JSON-RPC error answer.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *RPCError) Error() string {
	return fmt.Sprintf("the server answered with error %d: %s", e.Code, e.Message)
}

// Session is a connection to one server. Methods may be called concurrently.
type Session interface {
	// Request sends one request and returns its result. The error is an RPCError,
	// or wraps ErrNoAnswer, or says that nothing was sent.
	Request(ctx context.Context, method string, params map[string]any) (json.RawMessage, error)
	// Close ends the connection and waits for everything that it started.
	Close() error
}

// CallTool sends one tools/call.
func CallTool(ctx context.Context, s Session, c Call) (Result, error) {
	arguments := c.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	params := map[string]any{"name": c.Tool, "arguments": arguments}
	if len(c.Meta) > 0 {
		meta := map[string]any{}
		for name, value := range c.Meta {
			meta[name] = value
		}
		params["_meta"] = meta
	}
	if c.RequestState != "" {
		params["requestState"] = c.RequestState
	}
	if c.InputResponses != nil {
		params["inputResponses"] = c.InputResponses
	}
	raw, err := s.Request(ctx, "tools/call", params)
	if err != nil {
		return Result{}, err
	}
	return parseResult(raw)
}

// ToolNames lists the tools of the server.
func ToolNames(ctx context.Context, s Session) ([]string, error) {
	raw, err := s.Request(ctx, "tools/list", map[string]any{})
	if err != nil {
		return nil, err
	}
	var list struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("tools/list: %w", err)
	}
	names := make([]string, len(list.Tools))
	for i, t := range list.Tools {
		names[i] = t.Name
	}
	return names, nil
}

// encode builds the request, with what the era wants in every one of them.
func encode(version string, id int, method string, params map[string]any) ([]byte, error) {
	if version == Modern {
		meta, _ := params["_meta"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
		}
		meta["io.modelcontextprotocol/protocolVersion"] = Modern
		meta["io.modelcontextprotocol/clientCapabilities"] = map[string]any{
			"elicitation": map[string]any{"form": map[string]any{}},
			"extensions":  map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}},
		}
		meta["io.modelcontextprotocol/clientInfo"] = clientInfo()
		params["_meta"] = meta
	}
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w: nothing was sent", method, err)
	}
	return line, nil
}

func clientInfo() map[string]any { return map[string]any{"name": "deed-faultkit", "version": "1"} }

func initializeParams() map[string]any {
	return map[string]any{"protocolVersion": Legacy, "capabilities": map[string]any{}, "clientInfo": clientInfo()}
}

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// answer is a JSON-RPC answer, or any other message of a server.
type answer struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *RPCError       `json:"error"`
}

func (a answer) outcome() (json.RawMessage, error) {
	if a.Error != nil {
		return nil, a.Error
	}
	return a.Result, nil
}
