// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// operationsTool is deed's own read-only tool: a new turn recovers before it invents.
const operationsTool = "deed_operations"

func operationsDefinition() json.RawMessage {
	return json.RawMessage(`{"name":"` + operationsTool + `","title":"Recorded actions",` +
		`"description":"Shows your recorded actions that change things: their key, tool, status, receipt. Look here before repeating an action or when resuming work. With no argument: the latest ones. It changes nothing.",` +
		`"inputSchema":{"type":"object","properties":{` +
		`"key":{"type":"string","description":"The idempotency_key of the action."},` +
		`"operation_id":{"type":"string","description":"The operation, as op_..."},` +
		`"status":{"type":"string","enum":["pending","accepted","failed","uncertain","closed"],"description":"Only actions that stand so."}},` +
		`"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}}`)
}

// operationView is what the tool shows of an operation: never its arguments.
type operationView struct {
	OperationID deed.OperationID `json:"operation_id"`
	Key         string           `json:"key,omitempty"`
	Tool        deed.Tool        `json:"tool"`
	Status      deed.Status      `json:"status"`
	Reason      deed.Reason      `json:"reason,omitempty"`
	Attempt     int              `json:"attempt,omitempty"`
	CreatedAt   string           `json:"created_at"`
	SettledAt   string           `json:"settled_at,omitempty"`
	RemoteID    string           `json:"remote_id,omitempty"`
	RemoteURL   string           `json:"remote_url,omitempty"`
	// Matter is what the action is about, as its rule names it: a derived key does not tell.
	Matter json.RawMessage `json:"matter,omitempty"`
	// ApproveBy is until when a person may approve it; NextCheckAt is when it is looked up again.
	ApproveBy   string `json:"approve_by,omitempty"`
	NextCheckAt string `json:"next_check_at,omitempty"`
	// EstablishedBy says who knows of it: "reply", "reconcile:<strategy>", "operator:<name>" or "webhook".
	EstablishedBy string `json:"established_by,omitempty"`
}

// statusesOf are the filters that exist in every listing.
var statusesOf = map[string][]deed.Status{
	"pending":   {deed.StatusAwaitingApproval, deed.StatusAwaitingInput, deed.StatusAuthorized, deed.StatusExecuting},
	"accepted":  {deed.StatusCommitted},
	"failed":    {deed.StatusFailed},
	"uncertain": {deed.StatusUncertain},
	"closed":    {deed.StatusDenied, deed.StatusCancelled, deed.StatusExpired},
}

// operations answers a call of deed_operations: the caller's own operations only, whatever it may read elsewhere.
func (g *Gate) operations(ctx context.Context, c *ToolCall) Message {
	m, who := c.Message, c.Session.Principal
	argument := func(name string) string {
		text, _ := rawjson.Text(m.Params, "arguments", name)
		return text
	}
	query := deed.Query{Actor: who.Actor, Limit: 20, Key: argument("key")}
	if filter := argument("status"); filter != "" {
		statuses, ok := statusesOf[filter]
		if !ok {
			return ResultMessage(m.ID, textResult(true, "status is one of pending, accepted, failed, uncertain, closed."))
		}
		query.Statuses = statuses
	}
	var list []*deed.Operation
	if id := argument("operation_id"); id != "" {
		op, err := g.ledger.Get(ctx, who, deed.OperationID(id))
		switch {
		case err == nil && op.Actor == who.Actor:
			list = append(list, op)
		case err != nil && !errors.Is(err, deed.ErrNotFound):
			return ResultMessage(m.ID, textResult(true, "The record of actions cannot be read now. Nothing was changed."))
		}
	} else {
		page, err := g.ledger.List(ctx, who, query)
		if err != nil {
			return ResultMessage(m.ID, textResult(true, "The record of actions cannot be read now. Nothing was changed."))
		}
		list = page.Operations
	}
	views := make([]operationView, 0, len(list))
	now := g.clock.Now()
	for _, op := range list {
		views = append(views, viewOf(op, op.EffectiveStatus(now)))
	}
	body := jsonText(map[string]any{"operations": views})
	text := fmt.Sprintf("%d recorded action(s).", len(views))
	result := textResult(false, text, body)
	if with, err := rawjson.Set(result, json.RawMessage(body), "structuredContent"); err == nil {
		result = with
	}
	if modernVersion(m, c.Header) != "" {
		result, _ = rawjson.Set(result, []byte(`"complete"`), "resultType")
	}
	return ResultMessage(m.ID, result)
}

func viewOf(op *deed.Operation, effective deed.Status) operationView {
	v := operationView{
		OperationID: op.ID, Tool: op.Tool, Status: effective, Reason: op.Reason, Attempt: op.AttemptNumber(), CreatedAt: stamp(op.CreatedAt),
	}
	if op.Key.Family != deed.FamilySecret && op.Key.Provenance != deed.ProvenanceNone {
		v.Key = op.Key.Text
	}
	if !op.SettledAt.IsZero() && effective != deed.StatusUncertain {
		v.SettledAt = stamp(op.SettledAt)
	}
	if r := op.Receipt(); r != nil {
		v.RemoteID, v.RemoteURL, v.EstablishedBy = r.RemoteID, r.RemoteURL, r.EstablishedBy
	}
	if json.Valid([]byte(op.Matter)) {
		v.Matter = json.RawMessage(op.Matter)
	}
	if effective == deed.StatusAwaitingApproval && op.Approval != nil {
		v.ApproveBy = stamp(op.Approval.ExpiresAt)
	}
	if a := op.Current(); effective == deed.StatusUncertain && a != nil && a.Probing != nil && !a.Probing.NextAt.IsZero() {
		v.NextCheckAt = stamp(a.Probing.NextAt)
	}
	return v
}
