// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net/http"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

// countUpTo bounds how many operations of one status are counted for one
// request: the ledger keeps no counters.
const countUpTo = 10 * maxPage

// stats answers GET /v1/stats. Without the right to read it counts the
// caller's own.
func (s *Server) stats(x *exchange) reply {
	stats := api.Stats{Statuses: map[deed.Status]int{}}
	for _, status := range deed.Statuses() {
		n, more, err := s.count(x.Context(), x.who, status, &stats)
		if err != nil {
			return s.failure(err)
		}
		if n > 0 {
			stats.Statuses[status] = n
		}
		if more {
			stats.AtLeast = append(stats.AtLeast, status)
		}
	}
	return answer(http.StatusOK, stats)
}

// count walks the operations of one effective status and notes the longest
// unresolved one.
func (s *Server) count(ctx context.Context, who deed.Principal, status deed.Status, stats *api.Stats) (n int, more bool, err error) {
	now := s.Clock.Now()
	query := deed.Query{Statuses: []deed.Status{status}, Effective: now, Limit: maxPage}
	for {
		page, err := s.Runtime.List(ctx, who, query)
		if err != nil {
			return n, false, err
		}
		n += len(page.Operations)
		for _, op := range page.Operations {
			if status == deed.StatusUncertain && op.Unresolved(now) {
				noteOldest(stats, op)
			}
		}
		if query.Before = page.Next; query.Before == "" {
			return n, false, nil
		}
		if n >= countUpTo {
			return n, true, nil
		}
	}
}

func noteOldest(stats *api.Stats, op *deed.Operation) {
	since := op.SettledAt
	switch op.Status {
	case deed.StatusExecuting:
		since = op.LeaseExpiresAt
	case deed.StatusAwaitingInput:
		since = op.InputExpiresAt
	}
	if stats.OldestUncertain == nil || since.Before(stats.OldestUncertain.Since) {
		stats.OldestUncertain = &api.Oldest{OperationID: op.ID, Since: since.UTC()}
	}
}
