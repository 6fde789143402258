// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package pgtest starts PostgreSQL clusters, PgBouncer and a proxy that cuts
// connections, for the tests of the ledger. It is no part of any program.
//
// Start with [Start].
package pgtest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/deed-run/deed/test/pgcluster"
)

// Cluster is a running server with its data in a temporary folder.
type Cluster struct {
	*pgcluster.Cluster
	made atomic.Int64
}

// Memory is a folder in memory, if the system has one, for tests whose point
// is not the disk.
func Memory() string { return pgcluster.Memory() }

// Start makes a cluster in a new folder within another. Its commits wait for
// what is below that folder. Stop it.
func Start(within string) (*Cluster, error) {
	cluster, err := pgcluster.Start(within)
	if err != nil {
		return nil, err
	}
	return &Cluster{Cluster: cluster}, nil
}

// Stop ends the server, however it stands, and removes its folder.
func (c *Cluster) Stop() { _ = c.Cluster.Stop() }

// Exec runs SQL on a database.
func (c *Cluster) Exec(database, sql string) error {
	return c.Cluster.Exec(context.Background(), database, sql)
}

// Database makes an empty database and returns its name.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("ledger_%d", c.made.Add(1))
	if err := c.Exec("postgres", "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return name
}

// Schema makes an empty schema in the database postgres and returns a
// connection string that leads there.
func (c *Cluster) Schema(t testing.TB, parameters ...string) string {
	t.Helper()
	name := fmt.Sprintf("ledger_%d", c.made.Add(1))
	if err := c.Exec("postgres", "CREATE SCHEMA "+name); err != nil {
		t.Fatal(err)
	}
	return c.Address("postgres", append(parameters, "search_path", name)...)
}

// Bouncer starts PgBouncer in transaction mode in front of the cluster, with
// few server connections, and returns the port on which it listens.
func (c *Cluster) Bouncer(t testing.TB) int {
	t.Helper()
	pooler, err := c.Cluster.Bouncer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pooler.Stop(); err != nil {
			t.Error(err)
		}
	})
	return pooler.Port
}
