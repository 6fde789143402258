// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/deed-run/deed"
)

// tenantsOf steps along the index of tenants, however many operations they have.
const tenantsOf = `WITH RECURSIVE t (name) AS (
  SELECT min(tenant) FROM operations
  UNION ALL SELECT (SELECT min(tenant) FROM operations WHERE tenant > t.name) FROM t WHERE t.name IS NOT NULL
) SELECT name FROM t WHERE name IS NOT NULL`

// Tenants lists the tenants that have operations in the ledger at path, in the
// order of their names. No query of a Store crosses tenants, so it reads the file
// itself, and only for operators, who may read the whole of it anyway.
func Tenants(ctx context.Context, path string) (tenants []deed.Tenant, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("ledger %s: listing its tenants: %w", path, err)
		}
	}()
	conn, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.BusyTimeout(5 * time.Second); err != nil {
		return nil, err
	}
	conn.SetInterrupt(ctx)
	rows, _, err := conn.Prepare(tenantsOf)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Step() {
		tenants = append(tenants, deed.Tenant(rows.ColumnText(0)))
	}
	return tenants, rows.Err()
}
