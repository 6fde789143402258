// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// sqlSize finds tables as every other statement does: along the search path.
const sqlSize = `SELECT coalesce(sum(pg_total_relation_size(to_regclass(name))), 0)::bigint FROM unnest(ARRAY[
  'deed_ledger', 'deed_operations', 'deed_keys', 'deed_locks', 'deed_events', 'deed_settings', 'deed_consents', 'deed_bookings'
]) AS name`

// Size is what the ledger takes on the database's disk in bytes: its tables with
// their indexes, without the write-ahead log, which all of a cluster share.
func (l *Ledger) Size(ctx context.Context) (int64, error) {
	var size int64
	err := l.read(ctx, []step{{sql: sqlSize, read: func(rows pgx.Rows) error { return rows.Scan(&size) }}})
	if err != nil {
		return 0, l.explain(doingRead, err)
	}
	return size, nil
}
