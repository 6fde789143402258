// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// Run makes one call of an upstream's tool for a caller that does not speak MCP, over a link on which the session has been opened. The call
// carries principal, tool, arguments and keys; what is known of the tool is added here. meta, when not nil, is the _meta of the request.
//
// ctx ends when the caller leaves: that ends the call, never the operation, and is the only error besides deed.ErrClosed.
func (g *Gate) Run(ctx context.Context, link Link, meta json.RawMessage, call deed.Call) (deed.Answer, error) {
	s := newSession(call.Tool.Upstream(), "", call.Principal, link, g)
	d, params, no := g.prepare(ctx, s, meta, &call)
	if no != nil {
		return *no, nil
	}
	if problem := confidential(d, call.Arguments); problem != "" {
		return deed.Answer{Decision: deed.Denied, Reason: deed.ReasonBadArguments, Text: problem, Principal: call.Principal, Rule: d.rule, At: g.clock.Now()}, nil
	}
	call.KeyArgument = d.own
	if value, sent := rawjson.Get(call.Arguments, d.own); d.own != "" && sent && d.rule.Identity != deed.FamilySecret {
		call.Carriers = append(call.Carriers, ownCarrier(value, d)...)
	}
	answer, err := g.run(ctx, s, d, params, call)
	if err == nil {
		g.current(ctx, s, d, params, &answer)
	}
	return answer, err
}

// RunStored runs a recorded operation again as it was frozen, for a person with the right to resolve (deed ops run): see deed.Runtime.CallOf
// for where that is permitted. Where its tool would now go elsewhere, or has changed and is quarantined, nothing is sent. The result is not
// taken for handed over: the operation's own caller has not seen it.
func (g *Gate) RunStored(ctx context.Context, link Link, meta json.RawMessage, who deed.Principal, id deed.OperationID) (deed.Answer, error) {
	call, err := g.ledger.CallOf(ctx, who, id)
	if err != nil {
		return deed.Answer{}, err
	}
	return g.runStored(ctx, link, meta, call)
}

// RunApproved is RunStored for the worker that runs what people have approved; see deed.Runtime.Ready and deed.Runtime.CallOfAuthorized.
// However many try, one attempt is begun.
func (g *Gate) RunApproved(ctx context.Context, link Link, meta json.RawMessage, tenant deed.Tenant, id deed.OperationID) (deed.Answer, error) {
	call, err := g.ledger.CallOfAuthorized(ctx, tenant, id)
	if err != nil {
		return deed.Answer{}, err
	}
	return g.runStored(ctx, link, meta, call)
}

func (g *Gate) runStored(ctx context.Context, link Link, meta json.RawMessage, call deed.Call) (deed.Answer, error) {
	s := newSession(call.Tool.Upstream(), "", call.Principal, link, g)
	d, params, no := g.prepare(ctx, s, meta, &call)
	if no != nil {
		return *no, nil
	}
	return g.run(ctx, s, d, params, call)
}

// prepare adds what is known of the tool to a call, or answers why nobody knows it.
func (g *Gate) prepare(ctx context.Context, s *Session, meta json.RawMessage, call *deed.Call) (*described, json.RawMessage, *deed.Answer) {
	params, err := paramsOf(*call, meta)
	if err != nil {
		return nil, nil, &deed.Answer{Decision: deed.Denied, Reason: deed.ReasonBadArguments, Text: err.Error(), Principal: call.Principal, At: g.clock.Now()}
	}
	if call.ArrivedAt.IsZero() {
		call.ArrivedAt = g.clock.Now()
	}
	d := g.find(ctx, s, call.Tool.Name(), nil, params)
	if d.unpinned && d.rule.Mutates() && d.rule.Mode != deed.ModeObserve {
		return nil, nil, &deed.Answer{Decision: deed.Denied, Reason: deed.ReasonStoreUnavailable, Principal: call.Principal, Rule: d.rule, At: g.clock.Now()}
	}
	call.Facts, call.Validate, call.Defaults = d.facts, d.validate(), d.schema.filled
	if d.rule.Mutates() {
		call.Revision = g.revision(s, d, params, call.Arguments)
	}
	return d, params, nil
}

// run claims a call and sees its attempt to the end, or to the time when its caller is answered.
func (g *Gate) run(ctx context.Context, s *Session, d *described, params json.RawMessage, call deed.Call) (deed.Answer, error) {
	answer, grant, err := g.claim(ctx, call)
	if err != nil || grant == nil {
		return answer, err
	}
	c := &ToolCall{Session: s, Message: RequestMessage(nil, "tools/call", params), Progress: func(Message) {}, Stream: func([]byte) {}}
	beat := g.keepAlive(c, nil)
	defer beat.stop()
	done := g.dispatch(ctx, c, d, request{name: d.Name, arguments: call.Arguments, upstream: params}, grant, beat)
	select {
	case ended := <-done:
		return ended.answer, nil
	case <-g.clock.After(grant.Rule.AnswerWithin - g.clock.Now().Sub(call.ArrivedAt)):
		return grant.StillRunning(), nil
	case <-ctx.Done():
		return deed.Answer{}, fmt.Errorf("the caller left; the operation goes on: %w", ctx.Err())
	}
}

// Facts tells what is known of a tool, without asking anybody.
func (g *Gate) Facts(tool deed.Tool) deed.ToolFacts {
	if d := g.lookup(tool); d != nil {
		return d.facts
	}
	return deed.ToolFacts{UpstreamIdentity: g.upstreamIdentity(tool.Upstream())}
}

func paramsOf(call deed.Call, meta json.RawMessage) (json.RawMessage, error) {
	params, err := rawjson.Set([]byte(`{}`), rawjson.Quote(call.Tool.Name()), "name")
	if err == nil {
		params, err = rawjson.Set(params, call.Arguments, "arguments")
	}
	if err == nil && meta != nil {
		params, err = rawjson.Set(params, meta, "_meta")
	}
	return params, err
}
