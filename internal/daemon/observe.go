// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/telemetry"
)

// The ways in which callers reach a gateway, as telemetry names them
// (network.transport of OpenTelemetry).
const (
	TransportPipe = "pipe"
	TransportTCP  = "tcp"
)

// observe sets up telemetry as the OTEL_ variables ask for it. A program that
// cannot report still guards: what is wrong there is told, not fatal. A Core
// that serves nobody reports nothing.
func (c *Core) observe(ctx context.Context, o Options) deed.Observer {
	if o.Transport == "" {
		c.flush = func(context.Context) error { return nil }
		return nil
	}
	observer, flush, err := telemetry.New(ctx, telemetry.Options{
		Transport: o.Transport, Policy: c.Policy, Clock: c.Clock, Version: o.Build, OldestUncertain: c.oldestUncertain,
	})
	if err != nil {
		o.Log(err.Error() + "; nothing is exported")
	}
	c.flush = flush
	return observer
}

// oldestUncertain returns since when the oldest unresolved operation of the
// configured tenants has been uncertain.
func (c *Core) oldestUncertain(ctx context.Context) (time.Time, error) {
	tenants := map[deed.Tenant]bool{c.Config.Tenant: true}
	for _, token := range c.Config.Auth.Tokens {
		tenants[token.Tenant] = true
	}
	var oldest time.Time
	for tenant := range tenants {
		op, err := c.OldestUncertain(ctx, tenant)
		if err != nil {
			return time.Time{}, err
		}
		if op == nil {
			continue
		}
		since := op.SettledAt
		if since.IsZero() {
			since = op.LeaseExpiresAt
		}
		if oldest.IsZero() || since.Before(oldest) {
			oldest = since
		}
	}
	return oldest, nil
}

// OldestUncertain finds the uncertain operation of a tenant that was begun
// first, nil if there is none. Listings are newest first, so it walks them all:
// there should be few.
func (c *Core) OldestUncertain(ctx context.Context, tenant deed.Tenant) (*deed.Operation, error) {
	now := c.Clock.Now()
	query := deed.Query{Tenant: tenant, Effective: now, Statuses: []deed.Status{deed.StatusUncertain}, Limit: 1000}
	var oldest *deed.Operation
	for {
		page, err := c.Ledger.List(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, op := range page.Operations {
			if op.Unresolved(now) {
				oldest = op
			}
		}
		if query.Before = page.Next; query.Before == "" {
			return oldest, nil
		}
	}
}
