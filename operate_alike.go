// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "context"

// maxAlike is how many operations Alike tells of.
const maxAlike = 50

// Alike finds the other operations of the tool that did, may have done or may yet
// do something about the matter of an operation, or that have its effect where the
// tool names no matter: whoever decides about a second refund has to know of the
// first. What is denied, failed, cancelled or expired did nothing and is left out,
// however much there is of it. The newest come first, at most 50, without payloads.
//
// The list is Runtime.List for some principal, or one that reads more tenants and
// keeps to Query.Tenant. Alike tells of what that principal may see: an empty answer
// to one without the right to read says nothing about other actors.
func Alike(ctx context.Context, list func(context.Context, Query) (Page, error), op *Operation) ([]*Operation, error) {
	query := Query{Tenant: op.Tenant, Tool: op.Tool, Matter: op.Matter, Limit: maxAlike + 1}
	if op.Matter == "" {
		query.Fingerprint = op.Fingerprint
	}
	for _, s := range Statuses() {
		switch s {
		case StatusDenied, StatusFailed, StatusCancelled, StatusExpired:
		default:
			query.Statuses = append(query.Statuses, s)
		}
	}
	page, err := list(ctx, query)
	if err != nil {
		return nil, err
	}
	var others []*Operation
	for _, other := range page.Operations {
		if other.ID != op.ID && len(others) < maxAlike {
			others = append(others, other)
		}
	}
	return others, nil
}
