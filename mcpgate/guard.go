// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"
	"net/http"
)

// Guard stands before tools/call and edits what clients read of tools. A nil Guard makes the gateway a transparent proxy.
type Guard interface {
	// Admit looks at a tools/call without waiting for anything. With forward true the message it returns goes upstream as it is;
	// otherwise Call is asked, in a goroutine of its own.
	Admit(s *Session, m Message, h http.Header) (out Message, forward bool)
	// Call answers a tools/call. ctx ends when the client leaves or cancels: that ends the call, never the operation.
	Call(ctx context.Context, c *ToolCall) Message
	// Tools edits the result of tools/list.
	Tools(s *Session, result json.RawMessage) json.RawMessage
	// Greeting edits the result of initialize and server/discover.
	Greeting(s *Session, result json.RawMessage) json.RawMessage
}

// ToolCall is one tools/call of a client.
type ToolCall struct {
	Session *Session
	Message Message
	Header  http.Header
	// Progress takes messages for the client that belong to this call. It is safe after the client has left.
	Progress func(Message)
	// Forward sends a message upstream for the client and returns the upstream's answer, untouched; for tools that need no guard.
	Forward func(ctx context.Context, m Message) Message
}

// Outlet is where a request's answers go: a line on stdout, or one HTTP response. All methods are safe for concurrent use and never fail:
// a client that has left reads nothing.
type Outlet interface {
	// Head tells the upstream's HTTP status and headers, where there are any.
	Head(status int, h http.Header)
	// Event sends what comes before the reply.
	Event(Event)
	// End sends the reply.
	End(Reply)
}
