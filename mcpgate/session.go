// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// Session pairs one client with one upstream session.
type Session struct {
	// Upstream is the configured name of the server.
	Upstream string
	// ID names the client's session for call ids: random on stdio, Mcp-Session-Id on HTTP, empty in the stateless era.
	ID string
	// Principal is whom the session belongs to.
	Principal deed.Principal
	// Link is the upstream end.
	Link Link

	guard  Guard
	work   sync.WaitGroup
	handed handing
	shared bool // several clients' requests come over it, and their ids mean nothing to each other

	mu     sync.Mutex
	ending bool
	calls  map[string]context.CancelCauseFunc // guarded calls by the client's request id
	live   map[*deed.Grant]bool               // attempts under way
}

// errCallerCancelled is why a guarded call's context ends after notifications/cancelled.
var errCallerCancelled = errors.New("the client cancelled the call")

func newSession(upstream, id string, principal deed.Principal, link Link, guard Guard) *Session {
	return &Session{Upstream: upstream, ID: id, Principal: principal, Link: link, guard: guard, calls: map[string]context.CancelCauseFunc{}}
}

// Handle takes one message of the client. It returns once the message is on its way; answers go to out. ctx ends when the client leaves.
func (s *Session) Handle(ctx context.Context, m Message, h http.Header, out Outlet) {
	if rest := s.handle(ctx, m, h, out, time.Time{}); rest != nil {
		go rest()
	}
}

// handle is Handle, but for what takes time: it returns that, and whoever has nothing else to do runs it. The message came at the time given;
// zero means now.
func (s *Session) handle(ctx context.Context, m Message, h http.Header, out Outlet, at time.Time) (rest func()) {
	switch {
	case m.Method == "tools/call" && s.guard != nil:
		return s.call(ctx, m, h, out, at)
	case s.guard != nil && heldTask(m):
		return s.guarded(ctx, m, h, out, s.guard.Task, time.Time{})
	case m.Method == "notifications/cancelled" && s.cancel(m):
		// The upstream is not told: whether a mutation still happens would then be unknown for no gain.
	case m.IsReply() && s.guard != nil && s.attempting():
		s.respond(ctx, m, h, out)
	default:
		s.forward(ctx, m, h, out, s.edit(m.Method))
	}
	return nil
}

func (s *Session) edit(method string) func(json.RawMessage) json.RawMessage {
	if s.guard == nil {
		return nil
	}
	switch method {
	case "tools/list":
		return func(r json.RawMessage) json.RawMessage { return s.guard.Tools(s, r) }
	case "initialize", "server/discover":
		return func(r json.RawMessage) json.RawMessage { return s.guard.Greeting(s, r) }
	}
	return nil
}

// forward passes a message on and its answers back, edited where edit is given.
func (s *Session) forward(ctx context.Context, m Message, h http.Header, out Outlet, edit func(json.RawMessage) json.RawMessage) {
	x := exchange(m, h, out)
	x.Done = func(r Reply) {
		if r.Delivery == Answered && edit != nil && r.Message.Result != nil {
			r = r.withResult(edit(r.Message.Result))
		}
		_ = out.End(s.forClient(r, m, out))
	}
	s.Link.Send(patience(ctx, out), x)
}

// patience is how long a forwarded request is waited for. On stdio the client leaves with its session, whose end ends the link and with it
// every wait; there is nothing to watch for each request.
func patience(ctx context.Context, out Outlet) context.Context {
	if _, lines := out.(stdioOutlet); lines {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// exchange is a message whose answers go to out untouched. A client on stdio cannot take up a cut stream by itself.
func exchange(m Message, h http.Header, out Outlet) *Exchange {
	x := &Exchange{Message: m, Header: h, Event: out.Event}
	if _, lines := out.(stdioOutlet); !lines {
		x.Head, x.Resumable = out.Head, true
	}
	return x
}

// withResult replaces the result where it changed.
func (r Reply) withResult(result json.RawMessage) Reply {
	if string(result) == string(r.Message.Result) {
		return r
	}
	if m, err := r.Message.With("result", result); err == nil {
		r.Message = m
		if r.Block != nil {
			r.Block = reblock(r.Block, m.Raw)
		}
	}
	return r
}

// forClient is what out is told: a client on HTTP gets an answer that is no JSON-RPC as it is, with its status; one on lines an error.
func (s *Session) forClient(r Reply, m Message, out Outlet) Reply {
	if _, lines := out.(stdioOutlet); !lines && r.Delivery == Answered {
		return r
	}
	return s.orError(r, m)
}

// orError gives the client of a request that got no answer, or one that is no JSON-RPC, an error that names the upstream as it is configured.
func (s *Session) orError(r Reply, m Message) Reply {
	if !m.IsRequest() || r.Message.Raw != nil {
		return r
	}
	text, why := "", deed.Told(fmt.Sprint(r.Err))
	switch r.Delivery {
	case Unsent:
		text = fmt.Sprintf("%s: not sent to the upstream %s: %s", m.Method, s.Upstream, why)
	case Sent:
		text = fmt.Sprintf("%s: no answer from the upstream %s: %s; it may have been received and is not sent again", m.Method, s.Upstream, why)
	case Answered:
		text = fmt.Sprintf("%s: the upstream %s refused it: %s; it is not sent again", m.Method, s.Upstream, why)
		if said := plain(string(r.Body), 140); said != "" {
			text += "; the upstream said: " + said
		}
	}
	r.Message = ErrorMessage(m.ID, codeInternal, text)
	return r
}

// call asks the guard about a tools/call, and returns what is left to do.
func (s *Session) call(ctx context.Context, m Message, h http.Header, out Outlet, at time.Time) (rest func()) {
	admission := s.guard.Admit(ctx, s, m, h)
	if at.IsZero() {
		at = admission.At
	}
	switch {
	case admission.Answer.Raw != nil:
		_ = out.End(Reply{Delivery: Answered, Message: admission.Answer})
		return nil
	case admission.Forward:
		x := exchange(admission.Message, h, out)
		x.Done = func(r Reply) {
			_ = out.End(s.forClient(r, m, out))
			if admission.Done != nil {
				admission.Done(r)
			}
		}
		s.Link.Send(patience(ctx, out), x)
		return nil
	}
	return s.guarded(ctx, m, h, out, s.guard.Call, at)
}

// guarded lets the guard answer a request. The request is under way when it returns, so that it can be cancelled and is waited for; the rest
// sees it to its end.
func (s *Session) guarded(ctx context.Context, m Message, h http.Header, out Outlet, answer func(context.Context, *ToolCall) (Message, func()), at time.Time) (rest func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	key := m.Key()
	s.mu.Lock()
	ending := s.ending
	if !ending {
		s.work.Add(1)
		if m.ID != nil && !s.shared {
			s.calls[key] = cancel
		}
	}
	s.mu.Unlock()
	if ending {
		cancel(nil)
		_ = out.End(Reply{Message: ErrorMessage(m.ID, codeInternal, m.Method+": the gateway is shutting down; nothing was sent")})
		return nil
	}
	if at.IsZero() {
		at = s.guard.Now()
	}
	noted := func(context.Context) {}
	if !s.shared { // one client must not wait for another that does not read
		noted = s.handed.underWay(at)
	}
	return func() {
		defer s.work.Done()
		grown()
		noted(ctx)
		reply, delivered := answer(ctx, &ToolCall{
			Session: s, Message: m, Header: h, ArrivedAt: at,
			Progress: func(p Message) { out.Event(Event{Message: p}) }, Stream: func(block []byte) { stream(out, block) },
			Forward: func(ctx context.Context, m Message) Reply { return s.ask(ctx, m, h, out) },
		})
		gone := errors.Is(context.Cause(ctx), errCallerCancelled)
		s.mu.Lock()
		delete(s.calls, key)
		s.mu.Unlock()
		cancel(nil)
		if gone || m.ID == nil {
			_ = out.End(Reply{})
			return
		}
		if delivered == nil {
			_ = out.End(Reply{Delivery: Answered, Message: reply})
			return
		}
		defer s.handed.begin(s.guard.Now())()
		if err := out.End(Reply{Delivery: Answered, Message: reply}); err == nil {
			delivered()
		}
	}
}

// stream makes the answer to a client on HTTP a stream of events.
func stream(out Outlet, block []byte) {
	if response, ok := out.(*httpOutlet); ok {
		response.stream(block)
	}
}

// ask forwards a message and waits for its reply.
func (s *Session) ask(ctx context.Context, m Message, h http.Header, out Outlet) Reply {
	done := make(chan Reply, 1)
	s.Link.Send(ctx, &Exchange{Message: m, Header: h, Event: out.Event, Done: func(r Reply) { done <- r }})
	r := <-done
	return s.orError(r, m)
}

// cancel ends the guarded call that the client means, and reports whether there was one.
func (s *Session) cancel(m Message) bool {
	id, ok := rawjson.Get(m.Params, "requestId")
	if !ok {
		return false
	}
	s.mu.Lock()
	cancel := s.calls[Message{ID: id}.Key()]
	s.mu.Unlock()
	if cancel == nil {
		return false
	}
	cancel(errCallerCancelled)
	return true
}

// Close lets guarded calls finish until ctx ends, then closes the upstream session, which settles the rest, and waits for all of them.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	idle := make(chan struct{})
	go func() { s.work.Wait(); close(idle) }()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	err := s.Link.Close()
	<-idle
	return err
}
