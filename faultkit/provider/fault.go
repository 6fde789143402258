// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"slices"
	"sync"
)

// FaultKind says what goes wrong with a call.
type FaultKind string

// The faults. "Commits" means that the effect is in the ledger, synced, before
// anything else happens.
const (
	// OK commits and answers.
	OK FaultKind = "ok"
	// Hang commits after params.ms, or at a release when ms is 0, then answers.
	Hang FaultKind = "hang"
	// Lose forgets the call: the connection closes, or the stdio child ends, and
	// nothing happened.
	Lose FaultKind = "lose"
	// CommitDrop commits and closes the connection, or ends the stdio child.
	CommitDrop FaultKind = "commit_drop"
	// CommitHang commits and never answers; a release drops the connection.
	CommitHang FaultKind = "commit_hang"
	// Commit5xx commits and answers params.status (503) without a body; over
	// stdio a JSON-RPC internal error.
	Commit5xx FaultKind = "commit_5xx"
	// Commit404 commits and answers 404, as a server that lost its session does.
	Commit404 FaultKind = "commit_404"
	// Reject4xx refuses before any effect: over MCP with error -32602, over plain
	// HTTP with 422, and with params.status where it is set.
	Reject4xx FaultKind = "reject_4xx"
	// RejectPrecommit refuses before any effect with 503 and Retry-After.
	RejectPrecommit FaultKind = "reject_precommit"
	// RefuseConn closes the listener and ends stdio children until a release:
	// nothing is received.
	RefuseConn FaultKind = "refuse_conn"
	// Partial commits params.k items of a batch and refuses the rest; with
	// params.drop the rest stays unanswered.
	Partial FaultKind = "partial"
	// IsError answers a tool error; params.commit says whether it acted first.
	IsError FaultKind = "iserror"
	// RPCErrorFault answers a JSON-RPC error; params.commit as above.
	RPCErrorFault FaultKind = "rpc_error"
	// HalfJSON commits and sends half of the answer.
	HalfJSON FaultKind = "half_json"
	// Garbage commits and sends something that is no JSON: over stdio a stray
	// line before the answer, over HTTP in place of it.
	Garbage FaultKind = "garbage"
	// InputRequired asks a question first (MCP 2026-07-28, multi round trip) and
	// commits on the continuation.
	InputRequired FaultKind = "input_required"
	// Task answers a task handle (MCP extension io.modelcontextprotocol/tasks)
	// and commits after params.ms, or at a release.
	Task FaultKind = "task"
)

var faultKinds = []FaultKind{
	OK, Hang, Lose, CommitDrop, CommitHang, Commit5xx, Commit404, Reject4xx, RejectPrecommit, RefuseConn,
	Partial, IsError, RPCErrorFault, HalfJSON, Garbage, InputRequired, Task,
}

// FaultParams are the details of a fault; each fault reads only its own.
type FaultParams struct {
	// MS is a delay in milliseconds.
	MS int `json:"ms,omitempty"`
	// K counts the items of a batch that take effect.
	K    int  `json:"k,omitempty"`
	Drop bool `json:"drop,omitempty"`
	// Status is an HTTP status.
	Status int `json:"status,omitempty"`
	// RetryAfter is in seconds; RejectPrecommit uses 1 when it is 0 and sends
	// none when it is negative.
	RetryAfter int    `json:"retry_after,omitempty"`
	Code       int    `json:"code,omitempty"`
	Text       string `json:"text,omitempty"`
	Commit     bool   `json:"commit,omitempty"`
}

// Fault is an order to misbehave. Orders for a tool are served oldest first.
type Fault struct {
	// Tool names the tool; empty means every tool that changes something.
	Tool  string    `json:"tool,omitempty"`
	Fault FaultKind `json:"fault"`
	// Times bounds how many calls are hit; 0 means all until a reset.
	Times  int         `json:"times,omitempty"`
	Params FaultParams `json:"params,omitzero"`
}

func (f Fault) validate() error {
	if !slices.Contains(faultKinds, f.Fault) {
		return fmt.Errorf("unknown fault %q: nothing was set; use one of %v", f.Fault, faultKinds)
	}
	if f.Times < 0 {
		return fmt.Errorf("fault %q has times %d: nothing was set; use 0 for always or a count", f.Fault, f.Times)
	}
	if f.Tool == "" {
		return nil
	}
	if _, ok := findTool(f.Tool); !ok {
		return fmt.Errorf("fault %q names unknown tool %q: nothing was set", f.Fault, f.Tool)
	}
	return nil
}

// order is a fault with the number of calls that it may still hit.
type order struct {
	Fault
	left int
}

// faults is the queue of orders.
type faults struct {
	mu     sync.Mutex
	orders []*order
}

func (q *faults) add(list ...Fault) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, f := range list {
		q.orders = append(q.orders, &order{Fault: f, left: f.Times})
	}
}

func (q *faults) clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.orders = nil
}

// take consumes one use of the oldest order for the tool.
func (q *faults) take(t Tool) Fault {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, o := range q.orders {
		if o.Tool != t.Name && (o.Tool != "" || t.ReadOnly) {
			continue
		}
		if o.Times == 0 {
			return o.Fault
		}
		if o.left > 0 {
			o.left--
			return o.Fault
		}
	}
	return Fault{Fault: OK}
}

// pending lists the orders that can still hit a call.
func (q *faults) pending() []Fault {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := []Fault{}
	for _, o := range q.orders {
		if o.Times > 0 && o.left == 0 {
			continue
		}
		f := o.Fault
		f.Times = o.left
		list = append(list, f)
	}
	return list
}

// spend takes the uses that an earlier process already served, so that a
// restarted stdio child does not begin its faults anew.
func (q *faults) spend(served []Request) {
	for _, r := range served {
		if t, ok := findTool(r.Tool); ok {
			q.take(t)
		}
	}
}
