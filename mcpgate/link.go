// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/deed-run/deed"
)

// Link is one session with an upstream. Implementations are safe for concurrent use.
//
// A Link sends a message at most once: it never repeats, redirects or re-posts one, whatever happened to it. A broken session is renewed for
// the next request only.
type Link interface {
	// Send hands over one message. For a request, x.Done is called exactly once, from any goroutine and possibly before Send returns.
	// Send does not wait for the reply. When ctx ends, the link stops waiting and Done reports what was known; pass a context without
	// cancel where the effect must be seen to its end.
	Send(ctx context.Context, x *Exchange)
	// Ready makes sure that the upstream can be reached before something that must not be lost is sent: it renews a broken session and
	// pings one that was silent for long. An error means that nothing of the coming request was sent.
	Ready(ctx context.Context) error
	// Close ends the session and waits for what it started.
	Close() error
}

// Exchange is one message on its way to an upstream, with the places that its answers go to.
type Exchange struct {
	Message Message
	// Header holds the HTTP request headers that came with the message, nil on stdio. A link takes from it what MCP defines.
	Header http.Header
	// Extra are headers of the gateway's own for an upstream on HTTP; they win over those of the client.
	Extra http.Header
	// Head, when set, is told the upstream's HTTP status and headers before the first Event or Done.
	Head func(status int, h http.Header)
	// Resumable says that whoever reads the answer can take up a cut stream by itself; otherwise the link does.
	Resumable bool
	// Event takes what belongs to the request before its reply: progress, and on HTTP everything else on its stream. Without it, such
	// messages go to the session's sink.
	Event func(Event)
	// Done takes the end of a request. It may be nil for notifications and replies.
	Done func(Reply)
	// Gate, when set, is asked right before the first byte is written: an error means that nothing is sent, the time is when writing must
	// have ended.
	Gate func() (until time.Time, err error)
	// Token, when set, is the progress token (as JSON) whose notifications belong to Event.
	Token string
	// Grant, when set, is the permission that the message is sent under.
	Grant *deed.Grant
}

// Event is one message, or one server-sent event, from the upstream.
type Event struct {
	Message Message // zero when the event carries no message
	// Block is the event as it stood in an SSE stream, blank line included; nil on stdio.
	Block []byte
}

// Delivery says what is known about a request that got no whole answer.
type Delivery int

// The deliveries, from the least to the most that the upstream may have done.
const (
	Unsent   Delivery = iota // proved: no byte of it left
	Sent                     // at least one byte may have left, no whole answer came
	Answered                 // a whole answer came
)

func (d Delivery) String() string {
	return [...]string{"unsent", "sent", "answered"}[d]
}

// Reply is the end of an exchange.
type Reply struct {
	Delivery Delivery
	// Message is the upstream's reply when Delivery is Answered and the answer was JSON-RPC.
	Message Message
	// Block is the reply as it stood in an SSE stream; nil otherwise.
	Block []byte
	// Status is the HTTP status of the answer, 0 on stdio or before one came, Header what came with it. Body is an answer that was not JSON-RPC, cut to 64 KiB.
	Status int
	Header http.Header
	Body   []byte
	// Resumable: the stream was cut, and its reader can take it up again by a GET with Last-Event-ID.
	Resumable bool
	// Err says what happened when Delivery is not Answered, or when the answer was not JSON-RPC.
	Err error
	// Outcome, when set, is what a Local knows of its call; otherwise the answer is classified.
	Outcome *deed.Outcome
}

// Errors of links; an Err of a Reply wraps one of them where it applies.
var (
	// ErrUpstreamExited: the stdio upstream's process ended.
	ErrUpstreamExited = errors.New("the upstream process ended")
	// ErrUpstreamClosed: this gateway closed the session.
	ErrUpstreamClosed = errors.New("the upstream session is closed")
	// ErrSessionLost: the upstream does not know the HTTP session any more (404).
	ErrSessionLost = errors.New("the upstream does not know this session any more")
	// ErrCut: an answer began and did not end.
	ErrCut = errors.New("the upstream's answer was cut")
	// ErrTooLong: a message is longer than the configured limit.
	ErrTooLong = errors.New("the message is longer than the limit")
)

// Upstream opens sessions with one configured MCP server.
type Upstream interface {
	// Open returns a new session. sink takes what belongs to no request of this session; it must not block for long. shared says that
	// requests of several clients will travel over it, so that ids and progress tokens are made unique on the way.
	Open(sink func(Event), shared bool) Link
}
