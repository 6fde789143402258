// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// sqlTrim takes the oldest along their index, and leaves those alone that
// somebody else is writing: the next call finds them.
const sqlTrim = `UPDATE deed_operations o SET arguments = NULL, result = NULL, kept = false, revision = o.revision + 1
	FROM (SELECT tenant, id FROM deed_operations WHERE kept AND retain_until < $1 ORDER BY retain_until LIMIT $2 FOR UPDATE SKIP LOCKED) expired
	WHERE o.tenant = expired.tenant AND o.id = expired.id`

// Trim implements deed.Store. One call is one transaction that holds the rows
// it trims; a caller with much to trim calls with a small limit and repeats.
func (l *Ledger) Trim(ctx context.Context, now time.Time, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if l.isClosed() {
		return 0, closedError()
	}
	trimmed := 0
	err := l.aside.do(func(link *link) error {
		count := step{sql: sqlTrim, args: []any{now.UnixMicro(), int64(limit)}, tag: func(tag string) (err error) {
			if _, err = fmt.Sscanf(tag, "UPDATE %d", &trimmed); err != nil {
				err = fmt.Errorf("the trim was answered by %s", strconv.Quote(tag))
			}
			return err
		}}
		if err := opened(l.options.Patience, count).run(link); err != nil {
			return err
		}
		if trimmed == 0 {
			link.rollback()
			return nil
		}
		return link.commit()
	})
	if err != nil {
		return 0, l.explain(doingWrite, err)
	}
	return trimmed, nil
}
