// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"time"

	"github.com/deed-run/deed"
)

// alike is another operation about the matter of a proposal, or with its effect
// where the tool names no matter.
type alike struct {
	ID        deed.OperationID `json:"operation_id"`
	Status    deed.Status      `json:"status"`
	CreatedAt time.Time        `json:"created_at"`
	operation *deed.Operation
}

func alikes(ctx context.Context, d desk, op *deed.Operation, now time.Time) ([]alike, error) {
	others, err := deed.Alike(ctx, d.List, op)
	if err != nil {
		return nil, err
	}
	list := make([]alike, 0, len(others))
	for _, other := range others {
		list = append(list, alike{other.ID, other.EffectiveStatus(now), other.CreatedAt, other})
	}
	return list, nil
}

func alikeLines(list []alike, now time.Time, width int) []string {
	rows := [][]string{{"operation", "status", "begun"}}
	for _, one := range list {
		rows = append(rows, []string{string(one.ID), standing(one.operation, now), when(one.CreatedAt, now)})
	}
	return sectionIn(width, "others about the same", rows)
}
