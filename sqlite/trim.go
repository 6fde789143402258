// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"time"
)

// Trim implements deed.Store. One call is one transaction; others wait for it,
// so a caller with much to trim calls with a small limit and repeats.
func (l *Ledger) Trim(ctx context.Context, now time.Time, limit int) (int, error) {
	trimmed := 0
	err := l.submit(ctx, &job{trimmed: true, run: func(c *connection) error {
		expired, err := readExpired(c, now, limit)
		if err != nil {
			return err
		}
		for _, seq := range expired {
			for _, id := range []statementID{stmtDeleteArguments, stmtDeleteResult, stmtForget} {
				s := c.use(id)
				s.integer(seq)
				if err := s.run(); err != nil {
					return err
				}
			}
		}
		trimmed = len(expired)
		return nil
	}})
	if err != nil {
		return 0, err
	}
	return trimmed, nil
}

func readExpired(c *connection, now time.Time, limit int) ([]int64, error) {
	s := c.use(stmtExpired)
	s.moment(now)
	s.integer(int64(limit))
	var expired []int64
	for s.next() {
		expired = append(expired, s.readInteger())
	}
	return expired, s.end()
}
