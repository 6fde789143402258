// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Guard stands before tools/call and edits what clients read of tools. A nil Guard makes the gateway a transparent proxy.
type Guard interface {
	// Now is the time by the guard's clock.
	Now() time.Time
	// Admit looks at a tools/call without waiting for anything. With Forward the message goes upstream as Admission says; otherwise Call
	// is asked, in a goroutine of its own.
	Admit(ctx context.Context, s *Session, m Message, h http.Header) Admission
	// Call answers a tools/call. ctx ends when the client leaves or cancels: that ends the call, never the operation. delivered, when not
	// nil, is called after the answer was handed to the client.
	Call(ctx context.Context, c *ToolCall) (answer Message, delivered func())
	// Task answers a tasks/* request about a task of the guard's own making, whose id begins with deed-op_.
	Task(ctx context.Context, c *ToolCall) (answer Message, delivered func())
	// Respond is asked before a client's answer to a request of the upstream is passed on; false drops it. It may wait for the ledger.
	Respond(ctx context.Context, s *Session) bool
	// Changed is told that the upstream says its tools have changed.
	Changed(upstream string)
	// Tools edits the result of tools/list.
	Tools(s *Session, result json.RawMessage) json.RawMessage
	// Greeting edits the result of initialize and server/discover.
	Greeting(s *Session, result json.RawMessage) json.RawMessage
}

// Admission is what becomes of a tools/call at first sight.
type Admission struct {
	// Forward sends Message upstream and its answer back untouched.
	Forward bool
	Message Message
	// Done, when set, is told the upstream's reply.
	Done func(Reply)
	// Answer, when set, is the reply: nothing is sent.
	Answer Message
	// At is when the guard saw the call; Call is told it as ArrivedAt.
	At time.Time
}

// watch tells the guard of what an upstream says about its tools, and passes everything on.
func watch(guard Guard, upstream string, next func(Event)) func(Event) {
	if guard == nil {
		return next
	}
	return func(e Event) {
		if e.Message.Method == "notifications/tools/list_changed" {
			guard.Changed(upstream)
		}
		next(e)
	}
}

// ToolCall is one tools/call of a client.
type ToolCall struct {
	Session *Session
	Message Message
	Header  http.Header
	// ArrivedAt is when the message was read.
	ArrivedAt time.Time
	// Progress takes messages for the client that belong to this call. It is safe after the client has left.
	Progress func(Message)
	// Stream is called when the upstream answers with a stream of events: the client's answer becomes one too, where it takes one. block,
	// when not nil, is an event without a message.
	Stream func(block []byte)
	// Forward sends a message upstream for the client and returns the upstream's reply, untouched; for tools that need no guard.
	Forward func(ctx context.Context, m Message) Reply
}

// Outlet is where a request's answers go: a line on stdout, or one HTTP response. All methods are safe for concurrent use.
type Outlet interface {
	// Head tells the upstream's HTTP status and headers, where there are any.
	Head(status int, h http.Header)
	// Event sends what comes before the reply.
	Event(Event)
	// End sends the reply. An error means that the client surely did not get it.
	End(Reply) error
}
