// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"net/url"

	"github.com/deed-run/deed"
)

// Call has the gateway call a tool, under the key. An answer says that it was
// done now, that it had been done (see [Verdict.Replayed]), or that it waits
// for a person; everything else is a *[ProblemError], or ErrNoAnswer.
func (c *Client) Call(ctx context.Context, tool deed.Tool, key string, call CallRequest) (CallAnswer, error) {
	var answer CallAnswer
	if tool.Upstream() == "" || tool.Name() == "" {
		return answer, fmt.Errorf("api: tool %q is not of the form upstream/name; nothing was sent", tool)
	}
	path := "/v1/tools/" + url.PathEscape(tool.Upstream()) + "/" + url.PathEscape(tool.Name()) + "/calls"
	err := c.post(ctx, path, key, call, &answer)
	return answer, err
}

// Claim asks for the permission to carry out an effect oneself: with the
// decision execute, send the answer's Arguments once, before SendBy, and
// Settle.
func (c *Client) Claim(ctx context.Context, claim ClaimRequest) (ClaimAnswer, error) {
	var answer ClaimAnswer
	err := c.post(ctx, "/v1/claims", "", claim, &answer)
	return answer, err
}

// Settle reports how an attempt ended. Repeating it is safe.
func (c *Client) Settle(ctx context.Context, id deed.OperationID, outcome SettleRequest) (Operation, error) {
	var op Operation
	err := c.post(ctx, "/v1/claims/"+url.PathEscape(string(id))+"/settle", "", outcome, &op)
	return op, err
}

// Renew extends the lease of a live attempt. ErrStale: it is lost; settle what
// came of it all the same.
func (c *Client) Renew(ctx context.Context, id deed.OperationID, renewal RenewRequest) (Lease, error) {
	var lease Lease
	err := c.post(ctx, "/v1/claims/"+url.PathEscape(string(id))+"/renew", "", renewal, &lease)
	return lease, err
}

// Operation returns one operation with its arguments.
func (c *Client) Operation(ctx context.Context, id deed.OperationID) (Operation, error) {
	var op Operation
	err := c.get(ctx, pathOf(id, ""), nil, &op)
	return op, err
}

// Events returns the history of one operation.
func (c *Client) Events(ctx context.Context, id deed.OperationID) ([]Event, error) {
	var list Events
	err := c.get(ctx, pathOf(id, "/events"), nil, &list)
	return list.Events, err
}

// Stats counts the operations that the caller may see.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	var stats Stats
	err := c.get(ctx, "/v1/stats", nil, &stats)
	return stats, err
}

// Resolve records a person's decision about an operation whose outcome is not
// known. It needs the right to resolve.
func (c *Client) Resolve(ctx context.Context, id deed.OperationID, decision ResolveRequest) (Operation, error) {
	return c.operate(ctx, id, "/resolve", decision)
}

// Cancel withdraws an operation: before it was begun nothing will be sent,
// afterwards no further attempt is made.
func (c *Client) Cancel(ctx context.Context, id deed.OperationID, reason string) (Operation, error) {
	return c.operate(ctx, id, "/cancel", ReasonRequest{reason})
}

// Reopen makes a finally failed operation retryable again. It needs the right
// to resolve.
func (c *Client) Reopen(ctx context.Context, id deed.OperationID, reason string) (Operation, error) {
	return c.operate(ctx, id, "/reopen", ReasonRequest{reason})
}

// Approve consents to the proposal that the digest names. It needs the right
// to approve.
func (c *Client) Approve(ctx context.Context, id deed.OperationID, consent ApproveRequest) (Operation, error) {
	return c.operate(ctx, id, "/approve", consent)
}

// Deny refuses the proposal that the digest names. It needs the right to
// approve.
func (c *Client) Deny(ctx context.Context, id deed.OperationID, refusal DenyRequest) (Operation, error) {
	return c.operate(ctx, id, "/deny", refusal)
}

// Reconcile looks an uncertain operation up at its provider, once.
func (c *Client) Reconcile(ctx context.Context, id deed.OperationID) (Finding, error) {
	var finding Finding
	err := c.post(ctx, pathOf(id, "/reconcile"), "", ReasonRequest{}, &finding)
	return finding, err
}

// Run sends the frozen snapshot of an operation where it allows an attempt.
func (c *Client) Run(ctx context.Context, id deed.OperationID) (CallAnswer, error) {
	var answer CallAnswer
	err := c.post(ctx, pathOf(id, "/run"), "", ReasonRequest{}, &answer)
	return answer, err
}

// Budgets shows how the budgets stand.
func (c *Client) Budgets(ctx context.Context) (Budgets, error) {
	var list Budgets
	err := c.get(ctx, "/v1/budgets", nil, &list)
	return list, err
}

func (c *Client) operate(ctx context.Context, id deed.OperationID, verb string, body any) (Operation, error) {
	var op Operation
	err := c.post(ctx, pathOf(id, verb), "", body, &op)
	return op, err
}

func pathOf(id deed.OperationID, verb string) string {
	return "/v1/operations/" + url.PathEscape(string(id)) + verb
}
