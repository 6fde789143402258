// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Call is one request to run a tool, freed of its transport.
type Call struct {
	Tool      string
	Arguments json.RawMessage
	// Transport is stdio, mcp or http.
	Transport string
	// Key is the Idempotency-Key header; an idempotency_key argument counts too,
	// and so does one in _meta.
	Key          string
	Meta         json.RawMessage
	RequestState string
}

// Delivery says how much of an answer the caller gets to see.
type Delivery int

// The ways an answer travels.
const (
	Whole Delivery = iota
	Dropped
	Half
	Stray
)

// Reply is what the provider answers, before a transport puts it into words.
// Exactly one of Structured, Error and Status is set, unless it is Dropped.
type Reply struct {
	Delivery   Delivery
	Structured map[string]any
	// IsError marks a tool error; Structured then holds only its text.
	IsError bool
	// Question is set with a request for input, Handle with a task.
	Question string
	Handle   *task
	Error    *RPCError
	// Status is a bare HTTP status; over stdio it becomes a JSON-RPC error.
	Status     int
	RetryAfter int
}

// RPCError is the error member of a JSON-RPC answer.
type RPCError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *RPCError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Call records the request, applies the fault that is due and answers. The
// effect, where there is one, is in the ledger before Call returns. A caller
// that leaves (ctx) never stops an effect.
func (p *Provider) Call(ctx context.Context, c Call) Reply {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return Reply{Delivery: Dropped}
	}
	p.working.Add(1)
	settings := p.settings
	p.mu.Unlock()
	defer p.working.Done()

	tool, ok := findTool(c.Tool)
	if !ok || tool.ReadOnly && settings.Lookup == NoLookup {
		return Reply{Error: &RPCError{Code: -32602, Message: "Unknown tool: " + c.Tool}}
	}
	if len(c.Arguments) == 0 {
		c.Arguments = json.RawMessage("{}")
	}
	var args map[string]json.RawMessage
	if err := json.Unmarshal(c.Arguments, &args); err != nil {
		return Reply{Error: &RPCError{Code: -32602, Message: "Invalid arguments: not a JSON object"}}
	}
	if c.Key == "" {
		c.Key = ownKey(c, args)
	}
	fault := p.due(tool, c)
	request, err := p.ledgers.requests.append(func(seq int) Request {
		return Request{
			Seq: seq, ID: requestName(seq), Op: tool.operation(args), Tool: tool.Name, ArgsSHA256: digest(c.Arguments),
			At: p.now(), Transport: c.Transport, Key: c.Key, Fault: fault.Fault, ReadOnly: tool.ReadOnly, Meta: c.Meta,
		}
	})
	if err != nil {
		return internal(err)
	}
	work := &work{p: p, call: c, tool: tool, args: args, request: request, settings: settings}
	return work.run(ctx, fault)
}

// ownKey is the provider's key where no header carries it.
func ownKey(c Call, args map[string]json.RawMessage) (key string) {
	if json.Unmarshal(args["idempotency_key"], &key) == nil && key != "" {
		return key
	}
	var meta struct {
		Key string `json:"idempotency_key"`
	}
	_ = json.Unmarshal(c.Meta, &meta)
	return meta.Key
}

// due picks the fault. A continuation of a question that was asked here is
// carried out and spends the question.
func (p *Provider) due(t Tool, c Call) Fault {
	if c.RequestState != "" {
		p.mu.Lock()
		_, known := p.asked[c.RequestState]
		delete(p.asked, c.RequestState)
		p.mu.Unlock()
		if known {
			return Fault{Fault: OK}
		}
	}
	return p.faults.take(t)
}

// work is one received call on its way to an answer.
type work struct {
	p        *Provider
	call     Call
	tool     Tool
	args     map[string]json.RawMessage
	request  Request
	settings Settings
}

func (w *work) run(ctx context.Context, f Fault) Reply {
	switch f.Fault {
	case Reject4xx:
		return f.refusal()
	case RejectPrecommit:
		return Reply{Status: orElse(f.Params.Status, 503), RetryAfter: orElse(f.Params.RetryAfter, 1)}
	case IsError, RPCErrorFault:
		if !f.Params.Commit {
			return f.answer()
		}
	case InputRequired:
		return w.ask()
	case Task:
		return w.begin(f)
	case Hang:
		if !w.p.holds.wait(w.tool.Name, time.Duration(f.Params.MS)*time.Millisecond, nil) {
			return Reply{Delivery: Dropped}
		}
	case Lose:
		return Reply{Delivery: Dropped}
	case Partial:
		return w.partial(f)
	}
	reply := w.act()
	if reply.Error != nil || reply.Status != 0 {
		return reply
	}
	switch f.Fault {
	case CommitDrop:
		return Reply{Delivery: Dropped}
	case CommitHang:
		w.p.holds.wait(w.tool.Name, 0, ctx.Done())
		return Reply{Delivery: Dropped}
	case Commit5xx:
		return Reply{Status: orElse(f.Params.Status, 503)}
	case Commit404:
		return Reply{Status: 404}
	case HalfJSON:
		reply.Delivery = Half
	case Garbage:
		reply.Delivery = Stray
	case IsError, RPCErrorFault:
		return f.answer()
	}
	return reply
}

// act does what the tool is for: a look-up has no effect, whatever goes wrong.
func (w *work) act() Reply {
	if w.tool.ReadOnly {
		return w.lookUp()
	}
	return w.commit()
}

// answer is the error that the fault prescribes.
func (f Fault) answer() Reply {
	if f.Fault == IsError {
		text := f.Params.Text
		if text == "" {
			text = "something went wrong"
		}
		return Reply{IsError: true, Structured: map[string]any{"error": text}}
	}
	message := f.Params.Text
	if message == "" {
		message = "Internal error"
	}
	return Reply{Error: &RPCError{Code: orElse(f.Params.Code, -32603), Message: message}}
}

// refusal is a status when the fault names one, otherwise what an MCP server says
// about arguments that it does not take.
func (f Fault) refusal() Reply {
	body := refusal(f.Params.Text)
	if f.Params.Status != 0 {
		return Reply{Status: f.Params.Status, Structured: body}
	}
	return Reply{Error: &RPCError{Code: -32602, Message: fmt.Sprint("Invalid params: ", body["error"])}}
}

func refusal(text string) map[string]any {
	if text == "" {
		text = "invalid input: refused before anything was done"
	}
	return map[string]any{"error": text}
}

func internal(err error) Reply {
	return Reply{Error: &RPCError{Code: -32603, Message: err.Error()}}
}

func orElse(n, fallback int) int {
	if n == 0 {
		return fallback
	}
	return n
}
