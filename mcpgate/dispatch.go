// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
	"github.com/deed-run/deed/outcome"
)

// attempt is one dispatch under a grant, in a goroutine of its own: the client that asked for it may leave.
type attempt struct {
	gate  *Gate
	call  *ToolCall
	tool  *described
	r     request
	grant *deed.Grant
	beat  *heartbeat

	replies chan Reply
	moved   chan struct{}
	answers chan ended // buffered: nobody may be listening
}

// ended is how an attempt was settled, and the upstream's reply where there was a whole one.
type ended struct {
	answer deed.Answer
	reply  Message
}

// dispatch sends the snapshot once and settles what comes of it. The channel yields the first answer.
func (g *Gate) dispatch(ctx context.Context, c *ToolCall, d *described, r request, grant *deed.Grant, beat *heartbeat) <-chan ended {
	a := &attempt{
		gate: g, call: c, tool: d, r: r, grant: grant, beat: beat,
		replies: make(chan Reply, 1), moved: make(chan struct{}, 1), answers: make(chan ended, 1),
	}
	g.work.Add(1)
	c.Session.work.Add(1)
	c.Session.attempt(grant, true)
	go func() {
		defer g.work.Done()
		defer c.Session.work.Done()
		defer c.Session.attempt(grant, false)
		grown()
		a.run(context.WithoutCancel(ctx))
	}()
	return a.answers
}

// Respond lets an answer through only while every attempt of the session still holds its lease, durably renewed just before: what leaves
// inside an attempt must not leave after others may take the attempt for lost.
func (g *Gate) Respond(ctx context.Context, s *Session) bool {
	for _, grant := range s.attempts() {
		if grant.Unrecorded {
			continue
		}
		if err := g.ledger.Renew(ctx, grant); err != nil {
			g.log(fmt.Sprintf("%s: a client's answer inside attempt %d was not passed on: %v", grant.Operation, grant.Attempt, err))
			return false
		}
	}
	return true
}

func (a *attempt) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready, stop := context.WithTimeout(ctx, max(time.Second, a.grant.TimeToSend()*3/4))
	err := a.call.Session.Link.Ready(ready)
	stop()
	if err != nil {
		a.settle(ctx, Message{}, outcome.Lost(true, err.Error()))
		return
	}
	m, err := a.message(ctx)
	if err != nil {
		a.settle(ctx, Message{}, outcome.Lost(true, err.Error()))
		return
	}
	a.call.Session.Link.Send(ctx, &Exchange{
		Message: m, Extra: a.extra(), Header: mirror(a.call.Header, a.tool.InputSchema, a.grant.Arguments), Event: a.event, Token: string(a.r.token),
		Head: a.head, Done: func(r Reply) { a.replies <- r }, Grant: a.grant,
		Gate: func() (time.Time, error) { return time.Now().Add(a.grant.TimeToSend()), a.grant.MaySend() },
	})
	a.wait(ctx)
}

// message is the snapshot with what travels beside it: _meta is the present caller's, and so are the answers to a question.
func (a *attempt) message(ctx context.Context) (Message, error) {
	params, err := rawjson.Set(a.r.upstream, a.grant.Arguments, "arguments")
	if _, sent := rawjson.Get(a.r.upstream, "arguments"); !sent && string(a.grant.Arguments) == "{}" {
		params, err = a.r.upstream, nil
	}
	if err != nil {
		return Message{}, err
	}
	if params, err = withProviderKey(params, a.tool.wiring, a.grant.ProviderKey); err != nil {
		return Message{}, err
	}
	return RequestMessage(a.gate.ownID(), "tools/call", a.gate.sending(ctx, params)), nil
}

// extra carries the provider key in a header, where it travels there.
func (a *attempt) extra() http.Header {
	name := a.tool.wiring.KeyHeader
	if name == "" || a.grant.ProviderKey == "" {
		return nil
	}
	return http.Header{http.CanonicalHeaderKey(name): {a.grant.ProviderKey}}
}

// head answers with a stream where the upstream does.
func (a *attempt) head(status int, h http.Header) {
	if status == http.StatusOK && strings.HasPrefix(h.Get("Content-Type"), "text/event-stream") {
		a.call.Stream(nil)
	}
}

// event passes on what the upstream says before its reply.
func (a *attempt) event(e Event) {
	if e.Message.Raw == nil {
		// Event ids stay here: they lead to the answer to the gateway's own request, which is no client's to take up.
		var at position
		at.see(e.Block)
		if at.retry > 0 {
			a.call.Stream(fmt.Appendf(nil, "retry: %d\n\n", at.retry.Milliseconds()))
		}
		return
	}
	if e.Message.Method == "notifications/progress" {
		a.beat.heard(e.Message)
		select {
		case a.moved <- struct{}{}:
		default:
		}
	}
	a.call.Progress(e.Message)
}

// wait settles on the reply. Without one in time the outcome is unknown, but the connection is read on, because a late proof counts.
func (a *attempt) wait(ctx context.Context) {
	rule, clock := a.grant.Rule, a.gate.clock
	hard, idle := clock.After(rule.TimeoutHard), clock.After(rule.Timeout)
	for {
		select {
		case r := <-a.replies:
			a.reply(ctx, r)
			return
		case <-a.moved:
			idle = clock.After(rule.Timeout)
			continue
		case <-idle:
			a.settle(ctx, Message{}, outcome.Lost(false, fmt.Sprintf("no answer and no progress within %s", rule.Timeout)))
		case <-hard:
			a.settle(ctx, Message{}, outcome.Lost(false, fmt.Sprintf("no answer within %s", rule.TimeoutHard)))
		}
		break
	}
	select {
	case r := <-a.replies:
		a.reply(ctx, r)
	case <-clock.After(rule.Late):
	}
}

func (a *attempt) reply(ctx context.Context, r Reply) {
	out := a.gate.classify(a.grant.Rule.Tool, r)
	a.settle(ctx, r.Message, out)
	if out.Kind == deed.OutcomeTask {
		a.follow(ctx, out)
	}
}

func (a *attempt) settle(ctx context.Context, reply Message, out deed.Outcome) {
	answer, err := a.gate.ledger.Settle(ctx, a.grant, out)
	if err != nil {
		answer = a.grant.Answer()
		answer.Decision, answer.Reason, answer.Text = deed.Uncertain, deed.ReasonOutcomeUnknown, err.Error()
	}
	select {
	case a.answers <- ended{answer, reply}:
	default:
	}
}

// classify reads a reply by the tables of package outcome.
func (g *Gate) classify(tool deed.Tool, r Reply) deed.Outcome {
	switch {
	case r.Outcome != nil:
		return *r.Outcome
	case r.Delivery == Answered && (r.Message.Result != nil || r.Message.Error != nil):
		return outcome.MCP(outcome.MCPAnswer{Result: r.Message.Result, Error: r.Message.Error, Status: r.Status, Header: r.Header}, g.outcomes(tool))
	case r.Delivery == Answered && r.Status >= 300:
		out := g.outcomes(tool).HTTP(outcome.HTTPAnswer{Status: r.Status, Header: r.Header, Body: r.Body})
		out.Message = fmt.Sprint(r.Err)
		return out
	}
	return outcome.Lost(r.Delivery == Unsent, fmt.Sprint(r.Err))
}
