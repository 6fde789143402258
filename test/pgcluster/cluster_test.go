// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package pgcluster_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed/test/pgcluster"
)

func TestAReplicaHasWhatAKilledPrimaryAcknowledged(t *testing.T) {
	ctx := t.Context()
	primary, err := pgcluster.Start(pgcluster.Memory())
	if err != nil {
		t.Fatal(err)
	}
	replica, err := primary.Replica(pgcluster.Memory(), "second")
	if err != nil {
		t.Fatal(errors.Join(err, primary.Stop()))
	}
	t.Cleanup(func() {
		if err := errors.Join(primary.Stop(), replica.Stop()); err != nil {
			t.Error(err)
		}
	})
	if err := primary.AwaitSync(ctx, "second"); err != nil {
		t.Fatal(err)
	}
	if err := primary.Exec(ctx, "postgres", `CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)`); err != nil {
		t.Fatal(err)
	}
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := replica.Promote(); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, pgcluster.Address([]*pgcluster.Cluster{primary, replica}, "postgres", "target_session_attrs", "read-write"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	var n int
	if err := conn.QueryRow(ctx, `SELECT n FROM kept`).Scan(&n); err != nil || n != 7 {
		t.Errorf("read %d, %v; want 7", n, err)
	}
	if err := primary.Follow(replica, "first"); err != nil {
		t.Fatalf("the old primary does not come back: %v", err)
	}
	if err := replica.AwaitSync(ctx, "first"); err != nil {
		t.Error(err)
	}
	if err := primary.Exec(ctx, "postgres", `INSERT INTO kept VALUES (8)`); err == nil {
		t.Error("the old primary takes writes beside the new one")
	}
}
