// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// taskUpdate takes the answers to what a held operation's tool has asked: they are the next attempt of the operation, under the bytes that
// were approved. It is acknowledged once that attempt is durable; the task tells what comes of it.
func (g *Gate) taskUpdate(ctx context.Context, c *ToolCall, op *deed.Operation) Message {
	m, s := c.Message, c.Session
	inputs, ok := rawjson.Get(m.Params, "inputResponses")
	state, open := questionOf(op)
	switch {
	case !ok:
		return ErrorMessage(m.ID, codeInvalidParams, "tasks/update: inputResponses is missing; nothing was sent")
	case !open || op.EffectiveStatus(g.clock.Now()) != deed.StatusAwaitingInput:
		return ResultMessage(m.ID, completeResult) // answers to what is not asked are passed over
	}
	if !(&asked{result: op.Result}).fits(inputs) {
		return ResultMessage(m.ID, completeResult) // a part of the answers: the task goes on asking
	}
	call := deed.Call{
		Principal: s.Principal, Tool: op.Tool, Arguments: op.Arguments, Meta: op.Meta, Resume: op.ID, ArrivedAt: c.ArrivedAt,
		Continuation: &deed.Continuation{State: state, Inputs: inputs},
	}
	d, params, no := g.prepare(ctx, s, beside(m.Params), &call)
	if no != nil {
		return ErrorMessage(m.ID, codeInternal, fmt.Sprintf("tasks/update: nothing was sent: %s", no.Reason))
	}
	var err error
	if string(state) != "null" {
		params, err = rawjson.Set(params, state, "requestState")
	}
	if err == nil {
		params, err = rawjson.Set(params, inputs, "inputResponses")
	}
	if err != nil {
		return ErrorMessage(m.ID, codeInvalidParams, "tasks/update: "+err.Error()+"; nothing was sent")
	}
	answer, grant, err := g.claim(ctx, call)
	switch {
	case err != nil:
		return ErrorMessage(m.ID, codeInternal, "tasks/update: nothing was sent: "+err.Error())
	case grant == nil && answer.Decision == deed.Denied:
		return ErrorMessage(m.ID, codeInternal, fmt.Sprintf("tasks/update: nothing was sent: %s %s", answer.Reason, plain(answer.Text, 200)))
	case grant != nil:
		quiet := &ToolCall{Session: s, Message: RequestMessage(nil, "tools/call", params), Progress: func(Message) {}, Stream: func([]byte) {}}
		beat := g.keepAlive(quiet, nil)
		beat.stop()
		g.dispatch(ctx, quiet, d, request{name: d.Name, arguments: call.Arguments, upstream: params}, grant, beat)
	}
	return ResultMessage(m.ID, completeResult)
}

// completeResult acknowledges tasks/update and tasks/cancel.
var completeResult = json.RawMessage(`{"resultType":"complete"}`)

// questionOf returns the requestState of the question that an operation waits with, and whether there is one.
func questionOf(op *deed.Operation) (json.RawMessage, bool) {
	if _, asks := rawjson.Get(op.Result, "inputRequests"); !asks {
		return nil, false
	}
	state, ok := rawjson.Get(op.Result, "requestState")
	if !ok {
		state = json.RawMessage("null")
	}
	return state, true
}
