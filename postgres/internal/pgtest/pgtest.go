// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package pgtest starts PostgreSQL clusters, PgBouncer and a proxy that cuts
// connections, for the tests of the ledger. It is no part of any program.
//
// Start with [Start].
package pgtest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Cluster is a running server with its data in a temporary folder.
type Cluster struct {
	// Folder holds the data and the socket.
	Folder string
	Port   int
	made   atomic.Int64
}

// binaries is where Debian keeps the programs of PostgreSQL 15.
const binaries = "/usr/lib/postgresql/15/bin"

// Memory is a folder in memory, if the system has one, for tests whose point
// is not the disk.
func Memory() string {
	const shared = "/dev/shm"
	if info, err := os.Stat(shared); err == nil && info.IsDir() {
		return shared
	}
	return os.TempDir()
}

// Start makes a cluster in a new folder within another. Its commits wait for
// what is below that folder. Stop it.
func Start(within string) (*Cluster, error) {
	folder, err := os.MkdirTemp(within, "deed-postgres-")
	if err != nil {
		return nil, err
	}
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	c := &Cluster{Folder: folder, Port: port}
	if err := c.make(); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) make() error {
	if err := os.Chmod(c.Folder, 0o755); err != nil {
		return err
	}
	if uid, gid, other := owner(); other {
		if err := os.Chown(c.Folder, uid, gid); err != nil {
			return err
		}
	}
	if err := c.command("initdb", "-D", c.data(), "-U", "deed", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"); err != nil {
		return err
	}
	return c.Up()
}

func (c *Cluster) data() string { return filepath.Join(c.Folder, "data") }

// Up starts the server again, with further settings such as "-c name=value".
func (c *Cluster) Up(settings ...string) error {
	options := append([]string{"-k", c.Folder, "-p", strconv.Itoa(c.Port), "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200", "-c", "fsync=on"}, settings...)
	return c.command("pg_ctl", "-D", c.data(), "-l", filepath.Join(c.Folder, "log"), "-w", "-t", "60", "-o", strings.Join(options, " "), "start")
}

// Down stops the server at once, as a crash would.
func (c *Cluster) Down() error {
	return c.command("pg_ctl", "-D", c.data(), "-m", "immediate", "-w", "stop")
}

// Stop ends the server and removes its folder.
func (c *Cluster) Stop() {
	_ = c.Down()
	_ = os.RemoveAll(c.Folder)
}

// owner is the user that runs the server: PostgreSQL refuses to be root.
func owner() (uid, gid int, other bool) {
	if os.Getuid() != 0 {
		return 0, 0, false
	}
	postgres, err := user.Lookup("postgres")
	if err != nil {
		return 0, 0, false
	}
	uid, _ = strconv.Atoi(postgres.Uid)
	gid, _ = strconv.Atoi(postgres.Gid)
	return uid, gid, true
}

func (c *Cluster) command(program string, args ...string) error {
	cmd := exec.Command(filepath.Join(binaries, program), args...)
	AsOwner(cmd)
	cmd.Dir = c.Folder
	log, err := os.OpenFile(filepath.Join(c.Folder, program+".out"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	// A file and no pipe: the server keeps what it inherits open.
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(log.Name())
		served, _ := os.ReadFile(filepath.Join(c.Folder, "log"))
		return fmt.Errorf("%s of PostgreSQL 15 (Debian package postgresql-15): %w\n%s\n%s", program, err, said, served)
	}
	return nil
}

// AsOwner makes a command run as the user that may run servers.
func AsOwner(cmd *exec.Cmd) {
	if uid, gid, other := owner(); other {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
}

// FreePort returns a TCP port that nobody uses.
func FreePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// Address is the connection string of a database over the socket, with
// further parameters in pairs.
func (c *Cluster) Address(database string, parameters ...string) string {
	values := url.Values{"host": {c.Folder}, "port": {strconv.Itoa(c.Port)}, "user": {"deed"}, "dbname": {database}}
	for i := 0; i+1 < len(parameters); i += 2 {
		values.Set(parameters[i], parameters[i+1])
	}
	return "postgres:///?" + values.Encode()
}

// Exec runs SQL on a database.
func (c *Cluster) Exec(database, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.Address(database))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.PgConn().Exec(ctx, sql).ReadAll()
	return err
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
