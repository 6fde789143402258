// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// location is where a ledger lives and how its connections are opened.
type location struct {
	path            string
	vfs             string
	patience        time.Duration
	checkpointPages int
}

func locate(path string, options Options) location {
	return location{path: path, vfs: options.VFS, patience: options.Patience, checkpointPages: options.CheckpointPages}
}

// prepare creates or checks the file, brings its schema up to date, and
// returns the first writing connection.
func (p location) prepare(ctx context.Context) (*connection, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := p.create(); err != nil {
		return nil, err
	}
	conn, err := p.connect()
	if err != nil {
		return nil, p.openError(err)
	}
	if err := p.identify(conn); err != nil {
		conn.shut()
		return nil, p.openError(err)
	}
	if err := p.configureWriter(conn); err != nil {
		conn.shut()
		return nil, p.openError(err)
	}
	if err := migrate(conn); err != nil {
		conn.shut()
		return nil, p.openError(err)
	}
	return conn, nil
}

// create makes an empty file that only its owner may read; SQLite gives the
// files beside it the same mode.
func (p location) create() error {
	if p.vfs != "" {
		return nil
	}
	if err := p.orphan(); err != nil {
		return err
	}
	file, err := os.OpenFile(p.path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case err == nil:
		return file.Close()
	case errors.Is(err, fs.ErrExist):
		return nil
	}
	return &OpenError{
		Path: p.path, Problem: "the file cannot be created", Err: err,
		Remedy: fmt.Sprintf("make sure that the folder %s exists and that this user may write there, or name another place for the ledger", filepath.Dir(p.path)),
	}
}

// orphan refuses to make a ledger where the log of another one lies: SQLite would
// empty it, and with it what that one was told last.
func (p location) orphan() error {
	log, err := os.Stat(p.path + "-wal")
	if err != nil || log.Size() == 0 {
		return nil
	}
	// Looked at second: who makes a ledger writes its file before its log.
	file, err := os.Stat(p.path)
	if err == nil && file.Size() > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &OpenError{
		Path: p.path, Problem: "there is no ledger, and " + p.path + "-wal holds what was last written to one",
		Remedy: "put the ledger's file back beside it, from where it was moved to; for a new or a restored ledger, move the -wal and -shm files away first",
	}
}

// connect opens a handle on the existing file.
func (p location) connect() (*connection, error) {
	uri, err := p.uri()
	if err != nil {
		return nil, err
	}
	flags := sqlite3.OPEN_READWRITE | sqlite3.OPEN_PRIVATECACHE | sqlite3.OPEN_URI
	if p.vfs != "" {
		flags |= sqlite3.OPEN_CREATE
	}
	handle, err := sqlite3.OpenFlags(uri, flags)
	if err != nil {
		return nil, err
	}
	if err := handle.BusyTimeout(p.patience); err != nil {
		handle.Close()
		return nil, err
	}
	return &connection{Conn: handle}, nil
}

// uri names the file to SQLite. The files beside it, which hold the same
// secrets for a while, are made with its mode.
func (p location) uri() (string, error) {
	path, err := filepath.Abs(p.path)
	if err != nil {
		return "", err
	}
	values := url.Values{}
	values.Set("vfs", framing(p.vfs))
	if p.vfs == "" {
		values.Set("modeof", path)
	}
	path = filepath.ToSlash(path)
	if path[0] != '/' {
		path = "/" + path
	}
	// SQLite knows no "+" for a space.
	query := strings.ReplaceAll(values.Encode(), "+", "%20")
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query}).String(), nil
}

// identify refuses files of other programs before anything is written.
func (p location) identify(conn *connection) error {
	var id, tables int64
	err := conn.snapshot(func() (err error) {
		if id, err = conn.pragma("application_id"); err != nil {
			return err
		}
		// Counting also reads the schema, so that damage there shows at once.
		tables, err = conn.number("SELECT count(*) FROM sqlite_schema")
		return err
	})
	if err != nil {
		return err
	}
	if id == applicationID || id == 0 && tables == 0 {
		return nil
	}
	return &OpenError{
		Path: p.path, Problem: fmt.Sprintf("it is a SQLite database of another program (application_id %#x, not %#x)", uint32(id), applicationID),
		Remedy: "name another file",
	}
}

// openError explains an error of the first steps.
func (p location) openError(err error) error {
	var already *OpenError
	if errors.As(err, &already) {
		already.Path = p.path
		return already
	}
	problem := "it cannot be opened"
	if errors.Is(err, sqlite3.NOTADB) || errors.Is(err, sqlite3.CORRUPT) {
		return &OpenError{Path: p.path, Problem: "it is not a SQLite database, or is damaged", Remedy: "name another file, or restore a backup", Err: err}
	}
	return &OpenError{Path: p.path, Problem: problem, Remedy: remedy(err), Err: err}
}

// configureWriter makes commits durable: every one is synced, and on macOS
// past the cache of the disk.
func (p location) configureWriter(conn *connection) error {
	if err := intoWAL(conn, p.patience); err != nil {
		return err
	}
	if _, err := conn.pragma("user_version"); err != nil { // makes the index of the log
		return err
	}
	if err := p.protect(); err != nil {
		return err
	}
	return conn.Exec(`
		PRAGMA synchronous = FULL;
		PRAGMA fullfsync = ON;
		PRAGMA checkpoint_fullfsync = ON;
		PRAGMA cache_size = -16384;
		PRAGMA trusted_schema = OFF;
	`)
}

// protect gives the shared index of the log, which SQLite makes readable by
// all, the mode of the ledger.
func (p location) protect() error {
	if p.vfs != "" {
		return nil
	}
	info, err := os.Stat(p.path)
	if err != nil {
		return err
	}
	if err := os.Chmod(p.path+"-shm", info.Mode().Perm()); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// intoWAL switches the file over. The switch needs it for itself and does not
// wait by itself for others who are opening it too.
func intoWAL(conn *connection, patience time.Duration) error {
	for until := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		s, err := conn.prepare("PRAGMA journal_mode = WAL")
		if err != nil {
			return err
		}
		mode := ""
		if s.next() {
			mode = s.readText()
		}
		err = s.end()
		s.Close()
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return &OpenError{Problem: fmt.Sprintf("it cannot use a write-ahead log there (journal mode %q)", mode), Remedy: "put it on a local file system"}
		case !errors.Is(err, sqlite3.BUSY) || time.Now().After(until):
			return err
		}
	}
}

// writer opens another writing connection.
func (p location) writer() (*connection, error) {
	conn, err := p.connect()
	if err != nil {
		return nil, err
	}
	if err := p.configureWriter(conn); err != nil {
		conn.shut()
		return nil, err
	}
	return conn, nil
}

// reader opens a connection that writes nothing.
func (p location) reader() (*connection, error) {
	conn, err := p.connect()
	if err != nil {
		return nil, err
	}
	if err := conn.Exec(`PRAGMA query_only = ON; PRAGMA cache_size = -4096; PRAGMA trusted_schema = OFF`); err != nil {
		conn.shut()
		return nil, err
	}
	return conn, nil
}

// pragma reads a number that SQLite keeps in the file.
func (c *connection) pragma(name string) (int64, error) {
	return c.number("PRAGMA " + name)
}

// number runs a query that yields one number.
func (c *connection) number(text string) (int64, error) {
	s, err := c.prepare(text)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	var n int64
	if s.next() {
		n = s.readInteger()
	}
	return n, s.end()
}
