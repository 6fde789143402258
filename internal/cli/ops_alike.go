// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"time"

	"github.com/deed-run/deed"
)

// alikeFor is how many operations about a matter are looked through.
const alikeFor = 50

// alike is another operation about the matter of a proposal, or with its effect
// where the tool names no matter.
type alike struct {
	ID        deed.OperationID `json:"operation_id"`
	Status    deed.Status      `json:"status"`
	CreatedAt time.Time        `json:"created_at"`
	operation *deed.Operation
}

// alikes finds what else did, may have done or may yet do something about the
// matter of a proposal: whoever decides about a second refund has to know of the
// first.
func alikes(ctx context.Context, d desk, op *deed.Operation, now time.Time) ([]alike, error) {
	query := deed.Query{Tool: op.Tool, Matter: op.Matter, Limit: alikeFor}
	if op.Matter == "" {
		query.Fingerprint = op.Fingerprint
	}
	page, err := d.List(ctx, query)
	if err != nil {
		return nil, err
	}
	var list []alike
	for _, other := range page.Operations {
		status := other.EffectiveStatus(now)
		switch status {
		case deed.StatusDenied, deed.StatusFailed, deed.StatusCancelled, deed.StatusExpired:
			continue
		}
		if other.ID != op.ID {
			list = append(list, alike{other.ID, status, other.CreatedAt, other})
		}
	}
	return list, nil
}

func alikeLines(list []alike, now time.Time) []string {
	rows := [][]string{{"operation", "status", "begun"}}
	for _, one := range list {
		rows = append(rows, []string{string(one.ID), standing(one.operation, now), when(one.CreatedAt, now)})
	}
	return section("others about the same", rows)
}
