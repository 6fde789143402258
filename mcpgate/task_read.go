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

// taskMeta is the _meta of a read in the era whose tasks are an extension.
const taskMeta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}},"io.modelcontextprotocol/clientInfo":{"name":"deed","version":"1"}}`

// ReadTask asks once, for the gateway itself, what became of a task whose call nobody waits for any more. Its link has been opened. ended says
// that the task is over; then out is a success where it came to a whole result, and tells nothing otherwise. given is when the call had its
// task at the latest: a younger one is another call's, of a server that has begun its ids anew. It records nothing.
func (g *Gate) ReadTask(ctx context.Context, link Link, tool deed.Tool, task string, given time.Time) (out deed.Outcome, ended bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	if err := link.Ready(ctx); err != nil {
		return deed.Outcome{}, false, fmt.Errorf("read the task of %s: %w", tool, err)
	}
	// Which era gave the task is not known any more: servers of both give them in the later one.
	extension := true
	state, err := g.askTask(ctx, link, "tasks/get", task, json.RawMessage(taskMeta))
	if err != nil && ctx.Err() == nil {
		extension = false
		state, err = g.askTask(ctx, link, "tasks/get", task, nil)
	}
	if err != nil {
		return deed.Outcome{}, false, fmt.Errorf("read the task of %s: %w", tool, err)
	}
	if why := anotherTask(state, task, given); why != "" {
		return outcome.Lost(false, why), true, nil
	}
	status, _ := rawjson.Text(state, "status")
	switch status {
	case "working", "submitted", "input_required":
		return deed.Outcome{}, false, nil
	case "completed":
	default:
		return outcome.Lost(false, "the task ended as "+plain(status, 60)), true, nil
	}
	result, ok := rawjson.Get(state, "result")
	if !ok || !extension {
		if result, err = g.askTask(ctx, link, "tasks/result", task, nil); err != nil {
			return deed.Outcome{}, false, fmt.Errorf("read the result of a task of %s: %w", tool, err)
		}
	}
	return outcome.MCP(outcome.MCPAnswer{Result: result}, g.outcomes(tool)), true, nil
}

// taskSkew is how far a server's clock may be ahead of the ledger's.
const taskSkew = time.Minute

// anotherTask says why the state is not that of the task that the call was given, "" where it may be.
func anotherTask(state json.RawMessage, task string, given time.Time) string {
	if id, told := rawjson.Text(state, "taskId"); told && id != task {
		return "the answer is of the task " + plain(id, 60)
	}
	text, _ := rawjson.Text(state, "createdAt")
	created, err := time.Parse(time.RFC3339, text)
	if err == nil && created.After(given.Add(taskSkew)) {
		return "the task of that id was created at " + plain(text, 60) + ", after the call had its own"
	}
	return ""
}

func (g *Gate) askTask(ctx context.Context, link Link, method, task string, meta json.RawMessage) (json.RawMessage, error) {
	params := fmt.Appendf(nil, `{"taskId":%s}`, rawjson.Quote(task))
	if meta != nil {
		params = fmt.Appendf(nil, `{"taskId":%s,"_meta":%s}`, rawjson.Quote(task), meta)
	}
	done := make(chan Reply, 1)
	link.Send(ctx, &Exchange{
		Message: RequestMessage(g.ownID(), method, params), Event: func(Event) {}, Done: func(r Reply) { done <- r },
	})
	select {
	case r := <-done:
		switch {
		case r.Message.Error != nil:
			text, _ := rawjson.Text(r.Message.Error, "message")
			return nil, fmt.Errorf("%s: %s", method, plain(text, 200))
		case r.Delivery != Answered || !rawjson.IsObject(r.Message.Result):
			return nil, fmt.Errorf("%s: no answer: %w", method, orError(r.Err))
		}
		return r.Message.Result, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: no answer within %s: %w", method, probeWithin, ctx.Err())
	}
}
