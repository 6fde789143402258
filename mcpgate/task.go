// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
	"github.com/deed-run/deed/outcome"
)

// mostUnread is how many reads of a task in a row may get no answer.
const mostUnread = 5

// follow polls a task to its end: the handle proves that the call was taken, its terminal state is the outcome. Polling reads only.
func (a *attempt) follow(ctx context.Context, handle deed.Outcome) {
	rule, clock := a.grant.Rule, a.gate.clock
	extension := rawType(handle.Result) == "task"
	end := clock.After(rule.TimeoutHard)
	pause, unread := taskPause(handle.Result), 0
	for {
		select {
		case <-clock.After(pause):
		case <-end:
			a.settle(ctx, Message{}, outcome.Lost(false, "the task did not end in time"))
			return
		}
		r := a.ask(ctx, "tasks/get", handle.TaskID)
		if r.Message.Result == nil {
			if unread++; unread < mostUnread && r.Message.Error == nil {
				continue // polling reads only: the next answer may come
			}
			a.settle(ctx, Message{}, outcome.Lost(false, fmt.Sprintf("the task cannot be read: %v %s", r.Err, r.Message.Error)))
			return
		}
		unread = 0
		status, _ := rawjson.Text(r.Message.Result, "status")
		switch status {
		case "working", "submitted", "input_required":
			pause = taskPause(r.Message.Result)
			continue
		case "completed":
			a.settle(ctx, Message{}, a.completed(ctx, handle.TaskID, r, extension))
		default:
			// A failed or cancelled task may have done part of its work before it ended.
			text, _ := rawjson.Text(r.Message.Result, "statusMessage")
			a.settle(ctx, Message{}, outcome.Lost(false, "the task ended as "+status+": "+text))
		}
		return
	}
}

// completed reads the result: inside tasks/get in the extension, from tasks/result in 2025-11-25.
func (a *attempt) completed(ctx context.Context, task string, got Reply, extension bool) deed.Outcome {
	rules := a.gate.outcomes(a.grant.Rule.Tool)
	if result, ok := rawjson.Get(got.Message.Result, "result"); ok && extension {
		return outcome.MCP(outcome.MCPAnswer{Result: result}, rules)
	}
	r := a.ask(ctx, "tasks/result", task)
	if r.Message.Result == nil {
		return outcome.Lost(false, fmt.Sprintf("the task completed, its result cannot be read: %v %s", r.Err, r.Message.Error))
	}
	return outcome.MCP(outcome.MCPAnswer{Result: r.Message.Result}, rules)
}

func (a *attempt) ask(ctx context.Context, method, task string) Reply {
	params := fmt.Appendf(nil, `{"taskId":%s}`, rawjson.Quote(task))
	if meta, ok := rawjson.Get(a.r.upstream, "_meta"); ok {
		if rest, _, _, err := rawjson.Remove(meta, "progressToken"); err == nil {
			params, _ = rawjson.Set(params, rest, "_meta")
		}
	}
	done := make(chan Reply, 1)
	a.call.Session.Link.Send(ctx, &Exchange{
		Message: RequestMessage(a.gate.ownID(), method, params), Header: ownHeader(a.call.Header, method),
		Event: func(Event) {}, Done: func(r Reply) { done <- r },
	})
	select {
	case r := <-done:
		return r
	case <-a.gate.clock.After(probeWithin):
		return Reply{Err: fmt.Errorf("%s: no answer within %s", method, probeWithin)}
	}
}

func rawType(result json.RawMessage) string {
	text, _ := rawjson.Text(result, "resultType")
	return text
}

// taskPause reads the interval that the upstream asks for, between one second and one minute.
func taskPause(result json.RawMessage) time.Duration {
	for _, path := range [][]string{{"pollIntervalMs"}, {"pollInterval"}, {"task", "pollInterval"}} {
		value, ok := rawjson.Get(result, path...)
		if !ok {
			continue
		}
		if ms, err := json.Number(value).Int64(); err == nil {
			return min(max(time.Duration(ms)*time.Millisecond, time.Second), time.Minute)
		}
	}
	return 2 * time.Second
}
