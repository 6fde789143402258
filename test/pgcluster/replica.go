// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// Replica makes a cluster that follows c under a name, and starts it. It is
// not synchronous before [Cluster.AwaitSync] has returned.
func (c *Cluster) Replica(within, name string) (*Cluster, error) {
	r, err := reserve(within)
	if err != nil {
		return nil, err
	}
	err = r.command("pg_basebackup", "-D", r.data(), "-d", c.source(name), "-R", "-X", "stream", "-c", "fast")
	if err == nil {
		// Until it is promoted and told otherwise, it waits for nobody.
		err = r.configure([]string{"synchronous_standby_names=''"})
	}
	if err == nil {
		err = r.first(nil)
	}
	if err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

// Follow makes a primary that is down come back as a replica of another one
// that was promoted in its place: what it had and the other had not is gone.
func (c *Cluster) Follow(primary *Cluster, name string) error {
	// The end of the old history is found in the new primary's control file.
	if err := primary.Exec(context.Background(), "postgres", `CHECKPOINT`); err != nil {
		return err
	}
	err := c.command("pg_rewind", "-D", c.data(), "--source-server="+primary.source(name)+" dbname=postgres", "--write-recovery-conf")
	if err == nil {
		// The settings of the other came along.
		err = c.configure([]string{"synchronous_standby_names=''", "port=" + strconv.Itoa(c.Port)})
	}
	if err == nil {
		err = c.Up()
	}
	return err
}

func (c *Cluster) source(name string) string {
	return fmt.Sprintf("host=%s port=%d user=%s application_name=%s", c.Folder, c.Port, User, name)
}

// AwaitSync makes every commit of c wait until the named replica has applied
// it, and returns once the server says that the replica is synchronous: right
// after the start it is not, and what commits then may be lost.
func (c *Cluster) AwaitSync(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.Address("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, sql := range []string{
		`ALTER SYSTEM SET synchronous_standby_names = '"` + name + `"'`,
		`ALTER SYSTEM SET synchronous_commit = 'remote_apply'`, `SELECT pg_reload_conf()`,
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	for {
		var waits string
		var synchronous int
		err := conn.QueryRow(ctx, `SELECT current_setting('synchronous_commit'),
			(SELECT count(*) FROM pg_stat_replication WHERE application_name = $1 AND sync_state = 'sync' AND state = 'streaming')`, name).Scan(&waits, &synchronous)
		if err != nil {
			return fmt.Errorf("the replica %s is not synchronous: %w", name, err)
		}
		if waits == "remote_apply" && synchronous == 1 {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Promote makes a replica a primary and waits until it takes writes.
func (c *Cluster) Promote() error {
	return c.command("pg_ctl", "-D", c.data(), "-w", "-t", "120", "promote")
}

// Kill ends the server and all its processes with SIGKILL, as a machine that
// loses its power does, but for the disk's cache.
func (c *Cluster) Kill() error {
	pid, running := c.postmaster()
	if !running {
		return fmt.Errorf("the server in %s is not running; nothing was killed", c.Folder)
	}
	if err := killTree(pid); err != nil {
		return err
	}
	return c.forget()
}
