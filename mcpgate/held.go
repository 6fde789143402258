// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// Names of the tasks extension (MCP 2026-07-28, SEP-2663).
const (
	tasksExtension  = "io.modelcontextprotocol/tasks"
	capabilityMeta  = "io.modelcontextprotocol/clientCapabilities"
	heldPrefix      = "deed-" // of the task ids that are operations
	operationPrefix = "op_"
)

// Pauses that a client is asked to make between two looks at a task.
const (
	pollWaiting = 5 * time.Second
	pollRunning = 2 * time.Second
)

// heldTask reports whether a request is about a task of the gateway's own: an operation that a person must approve. Tasks of an upstream are
// its own to answer for.
func heldTask(m Message) bool {
	if !m.IsRequest() || !strings.HasPrefix(m.Method, "tasks/") {
		return false
	}
	id, ok := rawjson.Text(m.Params, "taskId")
	return ok && strings.HasPrefix(id, heldPrefix+operationPrefix)
}

// takesTasks reports whether the client of this very request takes a task for an answer.
func takesTasks(m Message) bool {
	_, ok := rawjson.Get(m.Params, "_meta", capabilityMeta, "extensions", tasksExtension)
	return ok && modernVersion(m, nil) != ""
}

// holds reports whether an answer can be a task: it waits for a person and goes on by itself, and the caller may read it.
func (g *Gate) holds(answer deed.Answer) bool {
	op := answer.Operation
	return g.runsApproved && answer.Decision == deed.AwaitingApproval && op != nil && op.Actor == answer.Principal.Actor &&
		op.Approval != nil && op.Approval.Run == deed.RunOnApproval && op.Key.Family != deed.FamilySecret
}

// task is the state of a task, SEP-2663; Result and InputRequests belong to some states only.
type task struct {
	ResultType     string `json:"resultType"`
	TaskID         string `json:"taskId"`
	Status         string `json:"status"`
	StatusMessage  string `json:"statusMessage,omitempty"`
	CreatedAt      string `json:"createdAt"`
	LastUpdatedAt  string `json:"lastUpdatedAt"`
	TTL            *int64 `json:"ttlMs"`
	PollIntervalMs int64  `json:"pollIntervalMs,omitempty"`
	// Result and InputRequests keep their bytes.
	Result        json.RawMessage `json:"-"`
	InputRequests json.RawMessage `json:"-"`
}

func taskOf(kind string, op *deed.Operation, status, text string, poll time.Duration) task {
	updated := op.CreatedAt
	for _, at := range []time.Time{op.ProposedAt, op.AuthorizedAt, op.SettledAt} {
		if at.After(updated) {
			updated = at
		}
	}
	return task{
		ResultType: kind, TaskID: heldPrefix + string(op.ID), Status: status, StatusMessage: text,
		CreatedAt: stamp(op.CreatedAt), LastUpdatedAt: stamp(updated), PollIntervalMs: poll.Milliseconds(),
	}
}

func (t task) message(id json.RawMessage, note *operationNote) Message {
	raw := []byte(jsonText(t))
	for name, value := range map[string]json.RawMessage{"result": t.Result, "inputRequests": t.InputRequests} {
		if with, err := rawjson.Set(raw, value, name); value != nil && err == nil {
			raw = with
		}
	}
	if note != nil {
		if with, err := rawjson.Set(raw, []byte(jsonText(note)), "_meta", metaOperation); err == nil {
			raw = with
		}
	}
	return ResultMessage(id, raw)
}

// handle answers a call that waits for a person with a task. The operation is durable already.
func (g *Gate) handle(m Message, s *Session, d *described, answer deed.Answer) Message {
	text := situate(answer, d, g.around(s, d)).prose().Text
	note := noteOf(answer)
	return taskOf("task", answer.Operation, "working", text, pollWaiting).message(m.ID, &note)
}

// Task answers a request about a task of the gateway's own. Nothing is decided here: whoever may approve does it elsewhere.
func (g *Gate) Task(ctx context.Context, c *ToolCall) (Message, func()) {
	m, s := c.Message, c.Session
	id, _ := rawjson.Text(m.Params, "taskId")
	op, err := g.ledger.Get(ctx, s.Principal, deed.OperationID(strings.TrimPrefix(id, heldPrefix)))
	switch {
	case errors.Is(err, deed.ErrNotFound), err == nil && (op.Actor != s.Principal.Actor || op.Tool.Upstream() != s.Upstream):
		return ErrorMessage(m.ID, codeInvalidParams, m.Method+": there is no such task"), nil
	case err != nil:
		return ErrorMessage(m.ID, codeInternal, m.Method+": the record of actions cannot be read now; nothing was changed"), nil
	}
	switch m.Method {
	case "tasks/get":
		return g.taskState(ctx, m, s, id, op)
	case "tasks/cancel":
		return g.taskCancel(ctx, m, s, op), nil
	case "tasks/update":
		return g.taskUpdate(ctx, c, op), nil
	}
	return ErrorMessage(m.ID, codeNoMethod, m.Method+": there is no such method for this task"), nil
}

// taskCancel withdraws an action of which nothing was sent. One that is under way goes on: its outcome is told by the task.
func (g *Gate) taskCancel(ctx context.Context, m Message, s *Session, op *deed.Operation) Message {
	switch op.EffectiveStatus(g.clock.Now()) {
	case deed.StatusAwaitingApproval, deed.StatusAuthorized:
		var moved *deed.RefusedError
		if _, err := g.ledger.Cancel(ctx, s.Principal, op.ID, "its client cancelled the task"); err != nil && !errors.As(err, &moved) {
			return ErrorMessage(m.ID, codeInternal, fmt.Sprintf("tasks/cancel: %v; nothing was changed", err))
		}
	}
	return ResultMessage(m.ID, completeResult)
}

// taskState tells where the operation stands. Everything that is over is completed, with what a call would have been answered: that an action
// was refused, or may have happened, is no JSON-RPC error.
func (g *Gate) taskState(ctx context.Context, m Message, s *Session, id string, op *deed.Operation) (Message, func()) {
	for range maxSuccessors {
		if op.Status != deed.StatusCancelled || op.SupersededBy == "" {
			break
		}
		next, err := g.ledger.Get(ctx, s.Principal, op.SupersededBy)
		if err != nil {
			break
		}
		op = next
	}
	d := g.lookup(op.Tool)
	if d == nil {
		d = &described{Definition: &Definition{Name: op.Tool.Name()}, rule: g.policy.Rule(op.Tool, deed.ToolFacts{})}
	}
	answer := g.standing(op, d.rule, s.Principal)
	about := situate(answer, d, g.around(s, d))
	show := func(status string, poll time.Duration) Message {
		t := taskOf("complete", op, status, about.prose().Text, poll)
		t.TaskID = id
		return t.message(m.ID, nil)
	}
	_, checked := about.checked()
	requests, asks := rawjson.Get(op.Result, "inputRequests")
	switch {
	case answer.Effective == deed.StatusAwaitingApproval, answer.Effective == deed.StatusAuthorized:
		return show("working", pollWaiting), nil
	case answer.Effective == deed.StatusAwaitingInput && asks:
		t := taskOf("complete", op, "input_required", about.prose().Text, pollWaiting)
		t.TaskID, t.InputRequests = id, requests
		return t.message(m.ID, nil), nil
	case answer.Effective == deed.StatusExecuting:
		return show("working", pollRunning), nil
	case answer.Effective == deed.StatusUncertain && checked:
		return show("working", pollWaiting), nil
	case answer.Effective == deed.StatusCancelled:
		return show("cancelled", 0), nil
	}
	t := taskOf("complete", op, "completed", "", 0)
	t.TaskID, t.Result = id, g.render(m, s, d, answer, true).Result
	out := t.message(m.ID, nil)
	if shownAsError(answer, d) {
		return out, nil
	}
	return out, func() { g.ledger.Delivered(context.WithoutCancel(ctx), answer) }
}

// maxSuccessors bounds how many times an edited proposal is followed.
const maxSuccessors = 16

// standing is what a call of the operation's own caller would be answered with where it stands, nothing being sent.
func (g *Gate) standing(op *deed.Operation, rule deed.Rule, who deed.Principal) deed.Answer {
	now := g.clock.Now()
	a := deed.Answer{
		Operation: op, Effective: op.EffectiveStatus(now), Reason: op.Reason, Text: op.Message, Result: op.Result,
		Received: op.Fingerprint, Principal: who, Rule: rule, At: now,
	}
	switch a.Effective {
	case deed.StatusAwaitingApproval:
		a.Decision, a.Reason = deed.AwaitingApproval, deed.ReasonPending
	case deed.StatusAuthorized, deed.StatusExecuting, deed.StatusAwaitingInput:
		a.Decision, a.Reason = deed.InProgress, deed.ReasonLeaseLive
		if a.Effective == deed.StatusAwaitingInput {
			a.Reason, a.Result = deed.ReasonAwaitingInput, nil
		}
		a.RetryAfter = pollRunning
	case deed.StatusCommitted:
		a.Decision, a.Reason = deed.Replay, deed.ReasonStored
		switch {
		case !op.Delivered() && len(op.Result) > 0:
			a.Decision, a.Reason = deed.Execute, ""
		case len(op.Result) == 0:
			a.Reason = deed.ReasonResultDiscarded
		}
	case deed.StatusFailed:
		a.Decision = deed.Failed
	case deed.StatusUncertain:
		a.Decision = deed.Uncertain
		if a.Reason == "" {
			a.Reason = deed.ReasonOutcomeUnknown
		}
	case deed.StatusExpired:
		a.Decision = deed.Expired
	case deed.StatusDenied, deed.StatusCancelled:
		a.Decision = deed.Denied
	}
	return a
}
