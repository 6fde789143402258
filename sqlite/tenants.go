// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"

	"github.com/deed-run/deed"
)

// sqlTenants steps along the index of tenants, however many operations they have.
const sqlTenants = `WITH RECURSIVE t (name) AS (
  SELECT min(tenant) FROM operations
  UNION ALL SELECT (SELECT min(tenant) FROM operations WHERE tenant > t.name) FROM t WHERE t.name IS NOT NULL
) SELECT name FROM t WHERE name IS NOT NULL`

// Tenants lists the tenants that have operations, in the order of their names.
// It is for operators, who may read the whole ledger: no query of a
// [deed.Store] crosses tenants.
func (l *Ledger) Tenants(ctx context.Context) ([]deed.Tenant, error) {
	var tenants []deed.Tenant
	err := l.read(ctx, func(c *connection) error {
		rows, err := c.prepare(sqlTenants)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Step() {
			tenants = append(tenants, deed.Tenant(rows.ColumnText(0)))
		}
		return rows.Err()
	})
	return tenants, err
}
