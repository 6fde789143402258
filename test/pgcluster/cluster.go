// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed/internal/loopback"
)

// BinariesVariable names the folder of PostgreSQL's programs where it is not
// that of Debian's package postgresql-15.
const BinariesVariable = "DEED_POSTGRES_BIN"

const debianBinaries = "/usr/lib/postgresql/15/bin"

// User owns the clusters' databases.
const User = "deed"

// Cluster is a server with its data in a folder of its own.
type Cluster struct {
	// Folder holds the data, the socket and the log.
	Folder string
	// Port is that of the socket and of 127.0.0.1.
	Port int

	guard  *guard
	claims []*loopback.Port
}

// Memory is a folder in memory, if the system has one, for tests whose point
// is not the disk; otherwise that for temporary files.
func Memory() string {
	const shared = "/dev/shm"
	if info, err := os.Stat(shared); err == nil && info.IsDir() {
		return shared
	}
	return os.TempDir()
}

// starts is how often a server is started whose port somebody else took first.
const starts = 5

// Start makes a cluster in a new folder below within and starts it, with
// settings such as "max_wal_size=4GB". Its commits wait for what is below that
// folder. Stop it; a server that is not stopped ends with this process, however
// that ends.
func Start(within string, settings ...string) (*Cluster, error) {
	return start(within, nil, settings)
}

// start asks port for ports, or where that is nil reserves them.
func start(within string, port func() (int, error), settings []string) (*Cluster, error) {
	c, err := reserve(within)
	if err != nil {
		return nil, err
	}
	err = c.command("initdb", "-D", c.data(), "-U", User, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--data-checksums", "--no-instructions")
	if err == nil {
		err = c.configure(settings)
	}
	if err == nil {
		err = c.first(port)
	}
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// reserve makes a cluster's folder.
func reserve(within string) (*Cluster, error) {
	folder, err := os.MkdirTemp(within, "deed-pg-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for a cluster: %w", err)
	}
	c := &Cluster{Folder: folder}
	err = os.Chmod(c.Folder, 0o755)
	if uid, gid, other := owner(); err == nil && other {
		err = os.Chown(c.Folder, uid, gid)
	}
	if err == nil {
		c.guard, err = watch(folder)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return c, nil
}

// first starts a server that has no port yet.
func (c *Cluster) first(port func() (int, error)) error {
	if port == nil {
		port = c.claim
	}
	for n := 1; ; n++ {
		var err error
		if c.Port, err = port(); err != nil {
			return err
		}
		if err := c.set("port=" + strconv.Itoa(c.Port)); err != nil {
			return err
		}
		err = c.Up()
		if err == nil || n == starts || !strings.Contains(err.Error(), "Address already in use") {
			return err
		}
	}
}

// claim reserves a port until the cluster is stopped, also while it is down.
func (c *Cluster) claim() (int, error) {
	port, err := loopback.Reserve()
	if err != nil {
		return 0, err
	}
	c.claims = append(c.claims, port)
	return port.Number, nil
}

// configure adds what every server here has, and settings over it.
func (c *Cluster) configure(settings []string) error {
	return c.set(append([]string{
		"unix_socket_directories='" + c.Folder + "'", "listen_addresses='127.0.0.1'",
		"max_connections=200", "fsync=on", "synchronous_commit=on",
		// A primary that comes back as a replica needs what came before its end.
		"wal_keep_size=1GB",
	}, settings...)...)
}

// set adds settings, each over those before it.
func (c *Cluster) set(lines ...string) error {
	file, err := os.OpenFile(filepath.Join(c.data(), "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(strings.Join(lines, "\n") + "\n")
	return errors.Join(err, file.Close())
}

func (c *Cluster) data() string { return filepath.Join(c.Folder, "data") }

// Up starts a server that is down, and waits until it accepts connections.
func (c *Cluster) Up() error {
	if err := c.forget(); err != nil {
		return err
	}
	return c.command("pg_ctl", "-D", c.data(), "-l", filepath.Join(c.Folder, "log"), "-w", "-t", "120", "start")
}

// Down stops the server at once, without a shutdown checkpoint.
func (c *Cluster) Down() error {
	if _, running := c.postmaster(); !running {
		return fmt.Errorf("the server in %s is not running; nothing was stopped", c.Folder)
	}
	return c.command("pg_ctl", "-D", c.data(), "-m", "immediate", "-w", "-t", "120", "stop")
}

// Stop ends the server, however it stands, and removes its folder.
func (c *Cluster) Stop() error {
	var err error
	if _, running := c.postmaster(); running {
		err = c.Down()
	}
	err = errors.Join(err, os.RemoveAll(c.Folder), c.guard.end())
	for _, port := range c.claims {
		err = errors.Join(err, port.Close())
	}
	return err
}

// command runs one of PostgreSQL's programs as the user that may.
func (c *Cluster) command(program string, args ...string) error {
	folder := os.Getenv(BinariesVariable)
	if folder == "" {
		folder = debianBinaries
	}
	cmd := exec.Command(filepath.Join(folder, program), args...)
	asOwner(cmd)
	cmd.Dir = c.Folder
	said, err := os.Create(filepath.Join(c.Folder, program+".out"))
	if err != nil {
		return err
	}
	defer said.Close()
	// A file and no pipe: the server keeps what it inherits open.
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(said.Name())
		log, _ := os.ReadFile(filepath.Join(c.Folder, "log"))
		return fmt.Errorf("%s of PostgreSQL 15 (Debian package postgresql-15; $%s names another folder): %w\n%s\n%s",
			program, BinariesVariable, err, text, log[max(0, len(log)-4096):])
	}
	return nil
}

// Address is the connection string of a database over the socket, with
// further parameters in pairs.
func (c *Cluster) Address(database string, parameters ...string) string {
	return Address([]*Cluster{c}, database, parameters...)
}

// Address is the connection string of a database on any of several clusters,
// tried in their order.
func Address(clusters []*Cluster, database string, parameters ...string) string {
	var hosts, ports []string
	for _, c := range clusters {
		hosts, ports = append(hosts, c.Folder), append(ports, strconv.Itoa(c.Port))
	}
	values := url.Values{"host": {strings.Join(hosts, ",")}, "port": {strings.Join(ports, ",")}, "user": {User}, "dbname": {database}}
	for i := 0; i+1 < len(parameters); i += 2 {
		values.Set(parameters[i], parameters[i+1])
	}
	return "postgres:///?" + values.Encode()
}

// URL is the address of a database over TCP, as a configuration names it.
func (c *Cluster) URL(database string) string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", User, c.Port, url.PathEscape(database))
}

// Exec runs SQL on a database, within a minute.
func (c *Cluster) Exec(ctx context.Context, database, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.Address(database))
	if err != nil {
		return err
	}
	_, err = conn.PgConn().Exec(ctx, sql).ReadAll()
	return errors.Join(err, conn.Close(ctx))
}

// Database makes an empty database and returns its connection string.
func (c *Cluster) Database(ctx context.Context, name string, parameters ...string) (string, error) {
	if err := c.Exec(ctx, "postgres", `CREATE DATABASE `+pgx.Identifier{name}.Sanitize()); err != nil {
		return "", fmt.Errorf("making the database %s: %w", name, err)
	}
	return c.Address(name, parameters...), nil
}
