// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// Run makes one call of an upstream's tool for a caller that does not speak MCP, over a link on which the session has been opened. The call
// carries principal, tool, arguments and keys; what is known of the tool is added here. meta, when not nil, is the _meta of the request.
//
// ctx ends when the caller leaves: that ends the call, never the operation, and is the only error besides deed.ErrClosed.
func (g *Gate) Run(ctx context.Context, link Link, meta json.RawMessage, call deed.Call) (deed.Answer, error) {
	s := newSession(call.Tool.Upstream(), "", call.Principal, link, g)
	params, err := paramsOf(call, meta)
	if err != nil {
		return deed.Answer{Decision: deed.Denied, Reason: deed.ReasonBadArguments, Text: err.Error(), Principal: call.Principal, At: g.clock.Now()}, nil
	}
	if call.ArrivedAt.IsZero() {
		call.ArrivedAt = g.clock.Now()
	}
	d := g.find(ctx, s, call.Tool.Name(), nil, params)
	if d.unpinned && d.rule.Mutates() && d.rule.Mode != deed.ModeObserve {
		return deed.Answer{Decision: deed.Denied, Reason: deed.ReasonStoreUnavailable, Principal: call.Principal, Rule: d.rule, At: g.clock.Now()}, nil
	}
	if problem := confidential(d, call.Arguments); problem != "" {
		return deed.Answer{Decision: deed.Denied, Reason: deed.ReasonBadArguments, Text: problem, Principal: call.Principal, Rule: d.rule, At: g.clock.Now()}, nil
	}
	call.Facts, call.Validate = d.facts, d.schema.check
	if d.own != "" {
		call.KeyArgument = d.own
		if key, sent := rawjson.Text(call.Arguments, d.own); sent && d.rule.Identity != deed.FamilySecret {
			call.Carriers = append(call.Carriers, deed.Carrier{Provenance: deed.ProvenanceModel, Identity: identity(d.rule.Identity, key), Name: d.own})
		}
	}
	answer, grant, err := g.ledger.Claim(ctx, call)
	if err != nil || grant == nil {
		return answer, err
	}
	c := &ToolCall{Session: s, Message: RequestMessage(nil, "tools/call", params), Progress: func(Message) {}}
	beat := g.keepAlive(c, nil)
	defer beat.stop()
	done := g.dispatch(ctx, c, d, request{name: d.Name, arguments: call.Arguments, upstream: params}, grant, beat)
	select {
	case ended := <-done:
		return ended.answer, nil
	case <-g.clock.After(orDefault(d.rule.AnswerWithin, 50*time.Second) - g.clock.Now().Sub(call.ArrivedAt)):
		return stillRunning(grant), nil
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
