// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"time"

	"github.com/deed-run/deed"
)

// Runtime is what the console asks of a deed.Runtime.
type Runtime interface {
	Get(ctx context.Context, who deed.Principal, id deed.OperationID) (*deed.Operation, error)
	List(ctx context.Context, who deed.Principal, query deed.Query) (deed.Page, error)
	Events(ctx context.Context, who deed.Principal, id deed.OperationID) ([]deed.Event, error)
	NeedsPerson(op *deed.Operation, now time.Time) bool
	Resolve(ctx context.Context, who deed.Principal, id deed.OperationID, resolution deed.Resolution) (*deed.Operation, error)
	Cancel(ctx context.Context, who deed.Principal, id deed.OperationID, reason string) (*deed.Operation, error)
	Reopen(ctx context.Context, who deed.Principal, id deed.OperationID, reason string) (*deed.Operation, error)
	Approve(ctx context.Context, who deed.Principal, id deed.OperationID, consent deed.Consent) (*deed.Operation, error)
	Deny(ctx context.Context, who deed.Principal, id deed.OperationID, consent deed.Consent) (*deed.Operation, error)
	EditAndApprove(ctx context.Context, who deed.Principal, id deed.OperationID, digest deed.Digest, arguments []byte, reason string) (*deed.Operation, error)
}

// action is a person's act that takes a reason.
type action func(ctx context.Context, who deed.Principal, id deed.OperationID, reason string) (*deed.Operation, error)

// Probes looks an operation up at its provider, as deed.Runtime does: it only
// reads there.
type Probes interface {
	Reconcile(ctx context.Context, who deed.Principal, id deed.OperationID) (deed.Finding, error)
}

// Budgets tells how the configured budgets stand.
type Budgets func(ctx context.Context, who deed.Principal) ([]deed.BudgetStatus, error)

// following returns the first id after id, so that a listing before it begins
// with id itself; ids are of Crockford's base32, which sorts bytewise.
func following(id deed.OperationID) deed.OperationID {
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	text := []byte(id)
	for i := len(text) - 1; i >= 0; i-- {
		at := indexByte(alphabet, text[i])
		if at < 0 {
			break
		}
		if at < len(alphabet)-1 {
			text[i] = alphabet[at+1]
			return deed.OperationID(text)
		}
		text[i] = alphabet[0]
	}
	return id + "0"
}

func indexByte(text string, b byte) int {
	for i := range len(text) {
		if text[i] == b {
			return i
		}
	}
	return -1
}

// glance reads one operation without arguments and result.
func (c *Console) glance(ctx context.Context, who deed.Principal, id deed.OperationID) (*deed.Operation, error) {
	page, err := c.Runtime.List(ctx, who, deed.Query{Before: following(id), Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(page.Operations) == 0 || page.Operations[0].ID != id {
		return nil, deed.ErrNotFound
	}
	return page.Operations[0], nil
}
