// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// postgresFloor is what a program would write by itself: one row when it
// begins and one update when it has ended, each its own commit, without
// decisions.
type postgresFloor struct{ pool *pgxpool.Pool }

// floorConnections bounds the connections of the floor: more of them make it
// slower, not faster.
const floorConnections = 96

func openPostgresFloor(ctx context.Context, address string, callers int) (*postgresFloor, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(min(callers, floorConnections))
	config.MinConns = config.MaxConns
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	_, err = pool.Exec(ctx, `CREATE TABLE IF NOT EXISTS floor (tenant text, key text, status text NOT NULL, arguments bytea NOT NULL, result bytea,
		receipt text, begun timestamptz NOT NULL DEFAULT clock_timestamp(), settled timestamptz, PRIMARY KEY (tenant, key))`)
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("preparing the floor: %w", err)
	}
	return &postgresFloor{pool}, nil
}

func (f *postgresFloor) operate(ctx context.Context, run string, n int) error {
	call, outcome := payment(run, n), paid(run, n)
	_, err := f.pool.Exec(ctx, `INSERT INTO floor (tenant, key, status, arguments) VALUES ($1, $2, 'executing', $3)`, "bench", paymentKey(run, n), call.Arguments)
	if err != nil {
		return err
	}
	_, err = f.pool.Exec(ctx, `UPDATE floor SET status = 'committed', result = $3, receipt = $4, settled = clock_timestamp() WHERE tenant = $1 AND key = $2`,
		"bench", paymentKey(run, n), outcome.Result, outcome.Receipt.RemoteID)
	return err
}

func (f *postgresFloor) close() { f.pool.Close() }
