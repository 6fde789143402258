// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package pgcluster

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/deed-run/deed/internal/loopback"
)

// BouncerVariable names the program of PgBouncer where it is not that of
// Debian's package pgbouncer.
const BouncerVariable = "DEED_PGBOUNCER"

const debianBouncer = "/usr/sbin/pgbouncer"

// bouncerLimit is how long PgBouncer may take to listen.
const bouncerLimit = time.Minute

// Bouncer is a PgBouncer in transaction mode in front of a cluster, with few
// connections to it: no session of a client lasts.
type Bouncer struct {
	// Port is where it listens on 127.0.0.1.
	Port int

	command *exec.Cmd
	ended   chan struct{}
	claim   *loopback.Port
}

// Bouncer starts a PgBouncer; a cluster has one at a time. Stop it before the
// cluster.
func (c *Cluster) Bouncer() (*Bouncer, error) {
	for n := 1; ; n++ {
		b, err := c.bouncer()
		if err == nil || n == starts || !strings.Contains(err.Error(), "Address already in use") {
			return b, err
		}
	}
}

func (c *Cluster) bouncer() (*Bouncer, error) {
	port, err := loopback.Reserve()
	if err != nil {
		return nil, err
	}
	b, err := c.bouncerAt(port)
	if err != nil {
		return nil, errors.Join(err, port.Close())
	}
	return b, nil
}

func (c *Cluster) bouncerAt(port *loopback.Port) (*Bouncer, error) {
	folder := filepath.Join(c.Folder, "bouncer")
	if err := c.bouncerFolder(folder, port.Number); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	program := os.Getenv(BouncerVariable)
	if program == "" {
		program = debianBouncer
	}
	b := &Bouncer{Port: port.Number, claim: port, command: exec.Command(program, filepath.Join(folder, "pgbouncer.ini")), ended: make(chan struct{})}
	asOwner(b.command)
	b.command.Dir = c.Folder
	b.command.Stdout, b.command.Stderr = log, log
	if err := b.command.Start(); err != nil {
		return nil, fmt.Errorf("PgBouncer (Debian package pgbouncer; $%s names another program): %w", BouncerVariable, err)
	}
	go func() {
		_ = b.command.Wait()
		close(b.ended)
	}()
	if err := b.listens(log.Name()); err != nil {
		return nil, errors.Join(err, b.end())
	}
	return b, nil
}

func (c *Cluster) bouncerFolder(folder string, port int) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if uid, gid, other := owner(); other {
		if err := os.Chown(folder, uid, gid); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(folder, "pgbouncer.ini"), fmt.Appendf(nil, `[databases]
* = host=%s port=%d user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
pidfile = %s
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 200
`, c.Folder, c.Port, User, port, filepath.Join(folder, "pid")), 0o644)
}

// listens waits until it says that it has the port: whoever answers there might
// be another.
func (b *Bouncer) listens(log string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(bouncerLimit)
	for {
		said, err := os.ReadFile(log)
		switch {
		case err != nil:
			return err
		case bytes.Contains(said, []byte("listening on 127.0.0.1:"+strconv.Itoa(b.Port))):
			return nil
		case bytes.Contains(said, []byte("Address already in use")):
			return fmt.Errorf("PgBouncer does not listen: %s", said)
		}
		select {
		case <-tick.C:
		case <-b.ended:
			said, _ := os.ReadFile(log)
			return fmt.Errorf("PgBouncer ended: %s", said)
		case <-late:
			return fmt.Errorf("PgBouncer does not listen after %s: %s", bouncerLimit, said)
		}
	}
}

// URL is the address of a database through the pooler, for clients that prepare
// no statements.
func (b *Bouncer) URL(database string) string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable&default_query_exec_mode=exec", User, b.Port, url.PathEscape(database))
}

// Stop ends it at once.
func (b *Bouncer) Stop() error { return errors.Join(b.end(), b.claim.Close()) }

func (b *Bouncer) end() error {
	err := b.command.Process.Kill()
	<-b.ended
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
