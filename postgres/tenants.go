// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
)

// sqlTenants steps along the index of tenants, however many operations they have.
const sqlTenants = `WITH RECURSIVE t (name) AS (
  SELECT min(tenant) FROM deed_operations
  UNION ALL SELECT (SELECT min(tenant) FROM deed_operations WHERE tenant > t.name) FROM t WHERE t.name IS NOT NULL
) SELECT name FROM t WHERE name IS NOT NULL`

// Tenants lists the tenants that have operations, in the order of their names.
// It is for operators, who may read the whole ledger: no query of a
// [deed.Store] crosses tenants.
func (l *Ledger) Tenants(ctx context.Context) ([]deed.Tenant, error) {
	var tenants []deed.Tenant
	err := l.read(ctx, []step{{sql: sqlTenants, read: func(rows pgx.Rows) error {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		tenants = append(tenants, deed.Tenant(name))
		return nil
	}}})
	if err != nil {
		return nil, l.explain(doingRead, err)
	}
	return tenants, nil
}
