// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// Call answers a tools/call through the Runtime.
func (g *Gate) Call(ctx context.Context, c *ToolCall) (Message, func()) {
	m, s := c.Message, c.Session
	name, _ := rawjson.Text(m.Params, "name")
	if m.IsNotification() {
		g.log(fmt.Sprintf("tools/call of %s/%s without an id: nobody could be told what came of it; nothing was sent", s.Upstream, name))
		return Message{}, nil
	}
	unknown := &described{Definition: &Definition{Name: name}}
	unknown.rule = deed.DefaultRule(deed.Tool(s.Upstream + "/" + name))
	if problem := ambiguous(m); problem != "" {
		return g.refusal(m, s, unknown, deed.ReasonBadArguments, problem), nil
	}
	if name == "" {
		return ErrorMessage(m.ID, codeInvalidParams, "tools/call: params.name is missing; nothing was sent"), nil
	}
	d := g.find(ctx, s, name, c.Header, m.Params)
	if name == operationsTool && d.Raw == nil && g.offersOperations(s) {
		return g.operations(ctx, c), nil
	}
	if !d.rule.Mutates() {
		admission := g.admitRead(ctx, s, m, d)
		if !admission.Forward {
			return admission.Answer, nil
		}
		reply := c.Forward(ctx, admission.Message)
		admission.Done(reply)
		return reply.Message, nil
	}
	return g.mutate(ctx, c, d)
}

func (g *Gate) mutate(ctx context.Context, c *ToolCall, d *described) (Message, func()) {
	m, s := c.Message, c.Session
	arrived := c.ArrivedAt
	if arrived.IsZero() {
		arrived = g.clock.Now()
	}
	if d.unpinned && d.rule.Mode != deed.ModeObserve {
		return g.refusal(m, s, d, deed.ReasonStoreUnavailable, ""), nil
	}
	if problem := headerMismatch(m, c.Header, d.InputSchema); problem != "" {
		return ErrorMessage(m.ID, codeHeaderMismatch, problem+"; nothing was sent"), nil
	}
	r, err := takeApart(m.Params, d.adds())
	if err != nil {
		return g.refusal(m, s, d, deed.ReasonBadArguments, err.Error()), nil
	}
	if problem := confidential(d, r.arguments); problem != "" {
		return g.refusal(m, s, d, deed.ReasonBadArguments, problem), nil
	}
	call, err := g.newCall(c, d, r)
	if err != nil {
		return g.refusal(m, s, d, deed.ReasonBadArguments, err.Error()), nil
	}
	standing, question := questionKnown, json.RawMessage(nil)
	if len(d.rule.Key.From) == 0 {
		call.Carriers, question, standing = g.asked.carrier(call)
	}
	switch standing {
	case questionKnown:
	case questionUnfit:
		return ResultMessage(m.ID, question), nil
	case questionUnknown:
		call.Continuation = nil // it is a call like any other; what the tool makes of the answers in it is the tool's to say
	case questionClosed:
		return ErrorMessage(m.ID, codeInvalidParams, "tools/call: the answer belongs to no question that is open here; nothing was sent"), nil
	}
	consent, unfit := g.consent(ctx, r.meta)
	call.Consent = consent
	beat := g.keepAlive(c, r.token)
	defer beat.stop()
	if ctx.Err() != nil {
		return ErrorMessage(m.ID, codeInternal, "tools/call: the caller left before anything was recorded; nothing was sent"), nil
	}
	ctx = g.received(ctx, m.Params)
	answer, grant, err := g.claim(ctx, call)
	if err != nil {
		return ErrorMessage(m.ID, codeInternal, "tools/call: nothing was sent by this call: "+err.Error()), nil
	}
	if d.unlisted && answer.Decision == deed.Denied && answer.Reason == deed.ReasonBadArguments {
		return ErrorMessage(m.ID, codeInvalidParams, "tools/call: "+answer.Text+"; nothing was sent"), nil // MCP 2025-11-25, server/tools, "Error Handling": an unknown tool is a protocol error
	}
	if grant != nil {
		done := g.dispatch(ctx, c, d, r, grant, beat)
		select {
		case ended := <-done:
			if grant.Unrecorded || onlyObserved(grant, ended) {
				return g.observed(m, ended), nil
			}
			refused := d.Raw == nil && ended.answer.Effective == deed.StatusFailed // a tool that the upstream does not have
			if negotiation(ended.reply) || (refused || call.Continuation != nil) && ended.reply.Error != nil {
				return replyTo(m, ended.reply), nil
			}
			answer = ended.answer
		case <-g.clock.After(grant.Rule.AnswerWithin - g.clock.Now().Sub(arrived)):
			answer = grant.StillRunning()
		case <-ctx.Done():
			return ErrorMessage(m.ID, codeInternal, "tools/call: the caller left; the operation goes on"), nil
		}
	}
	answer = unheard(answer, unfit)
	g.current(ctx, s, d, r.upstream, &answer)
	g.asked.ask(s.Principal, d.rule.Tool, answer, r.arguments)
	if g.holds(answer) && takesTasks(m) {
		return g.handle(m, s, d, answer), nil
	}
	if shownAsError(answer, d) {
		return g.render(m, s, d, answer, true), nil
	}
	return g.render(m, s, d, answer, true), func() { g.ledger.Delivered(context.WithoutCancel(ctx), answer) }
}

// shownAsError says that a receipt goes out as an error, because the tool promises a structured result and none is kept. Nobody has been
// told then: clients hide such texts behind advice to try again, and the next call must not be taken for a new action.
func shownAsError(a deed.Answer, d *described) bool {
	return a.Decision == deed.Replay && len(a.Result) == 0 && d.HasOutputSchema
}

// onlyObserved says that the upstream's own words on a call that came to nothing, or to a doubt, are the client's to hear: in observe mode
// nothing is made of them.
func onlyObserved(grant *deed.Grant, e ended) bool {
	failed := e.answer.Effective == deed.StatusFailed || e.answer.Effective == deed.StatusUncertain
	return grant.Rule.Mode == deed.ModeObserve && failed && e.reply.Raw != nil
}

// observed answers in observe mode: what the upstream said, with a note of what would have been decided.
func (g *Gate) observed(m Message, e ended) Message {
	if e.reply.Raw == nil {
		return ErrorMessage(m.ID, codeInternal, "tools/call: no answer from the upstream: "+plain(e.answer.Text, 200))
	}
	out := replyTo(m, e.reply)
	note, err := json.Marshal(noteOf(e.answer))
	if out.Result == nil || err != nil {
		return out
	}
	if result, err := rawjson.Set(out.Result, note, "_meta", metaOperation); err == nil {
		if with, err := out.With("result", result); err == nil {
			return with
		}
	}
	return out
}

// negotiation reports whether a reply is an error by which MCP itself asks the client's program for something, such as a capability
// (-32021) or a visit to a URL (-32042): its code and data mean something to that program, and prose would hide them. So do errors about the
// answers to a question, which the program gave. The attempt is settled like any other.
func negotiation(reply Message) bool {
	code, ok := rawjson.Get(reply.Error, "code")
	if !ok {
		return false
	}
	n, err := json.Number(code).Int64()
	return err == nil && n <= -32020 && n >= -32099
}

// replyTo gives a reply of the upstream to the gateway's own request the id of the client's.
func replyTo(m, reply Message) Message {
	if out, err := reply.With("id", m.ID); err == nil {
		return out
	}
	return ErrorMessage(m.ID, codeInternal, "tools/call: the upstream's error cannot be passed on")
}

// newCall is what the Runtime is asked.
func (g *Gate) newCall(c *ToolCall, d *described, r request) (deed.Call, error) {
	expires, fingerprint, err := envelope(r.meta)
	if err != nil {
		return deed.Call{}, err
	}
	call := deed.Call{
		Principal: c.Session.Principal, Tool: d.rule.Tool, Arguments: r.arguments, Facts: d.facts, Meta: facts(r.meta),
		Carriers:  g.carriers(c.Session, c.Message.Params, r, c.Header, d),
		ExpiresAt: expires, EffectFingerprint: fingerprint, Validate: d.validate(), Defaults: d.schema.filled,
		Revision: g.revision(c.Session, d, r.upstream, r.arguments), ArrivedAt: c.ArrivedAt,
	}
	call.KeyArgument = d.own
	state, hasState := rawjson.Get(c.Message.Params, "requestState")
	inputs, hasInputs := rawjson.Get(c.Message.Params, "inputResponses")
	if hasState || hasInputs {
		call.Continuation = &deed.Continuation{State: state, Inputs: inputs}
		if !hasState {
			call.Continuation.State = []byte("null")
		}
	}
	return call, nil
}

// refusal is a denial that needs no record.
func (g *Gate) refusal(m Message, s *Session, d *described, reason deed.Reason, text string) Message {
	return g.render(m, s, d, deed.Answer{Decision: deed.Denied, Reason: reason, Text: text, Rule: d.rule, At: g.clock.Now(), Principal: s.Principal}, true)
}
