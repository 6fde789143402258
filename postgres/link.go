// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// link is a connection that writes. It belongs to one goroutine at a time.
//
// The library asks the server to cancel what runs whenever a connection
// fails. That must never meet a COMMIT, so a link lets nobody but itself
// dial: to give up on the server is to close the socket and no more.
type link struct {
	conn     *pgx.Conn
	patience time.Duration
	// warned is set when the server warned of something since it was cleared.
	warned atomic.Bool
}

// step is one statement of a round trip.
type step struct {
	sql  string
	args []any
	// rows is the length of the longest array in args, where that is known.
	rows int
	// read is called with each row.
	read func(pgx.Rows) error
	// want is the command tag without which the step has failed, if set.
	want string
	// tag is called with the command tag, if set.
	tag func(string) error
}

// stepError says which step of a round trip failed.
type stepError struct {
	at  int
	sql string
	err error
}

func (e *stepError) Error() string { return e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

type dialling struct{}

var errNoCancel = errors.New("no request is ever cancelled on this connection")

func openLink(config *pgx.ConnConfig, patience time.Duration) (*link, error) {
	l := &link{patience: patience}
	config = config.Copy()
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if ctx.Value(dialling{}) == nil {
			return nil, errNoCancel
		}
		return dial(ctx, network, address)
	}
	config.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) {
		if notice.SeverityUnlocalized == "WARNING" {
			l.warned.Store(true)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), dialling{}, true), patience)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	encodeArrays(conn.TypeMap())
	l.conn = conn
	return l, nil
}

// run sends the steps in one round trip and reads what they yield. After an
// error of the database the transaction has failed; after any other the link
// is gone.
func (l *link) run(steps []step) error {
	timer := time.AfterFunc(l.patience, func() { l.conn.PgConn().Conn().Close() })
	defer timer.Stop()
	batch := &pgx.Batch{}
	for i := range steps {
		batch.Queue(steps[i].text(), steps[i].args...)
	}
	results := l.conn.SendBatch(context.Background(), batch)
	var failed error
	for i := range steps {
		if err := steps[i].finish(results); err != nil {
			failed = &stepError{i, steps[i].sql, err}
			break
		}
	}
	if err := results.Close(); err != nil && failed == nil {
		failed = err
	}
	return failed
}

func (s *step) finish(results pgx.BatchResults) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if s.read == nil {
			continue
		}
		if err := s.read(rows); err != nil {
			return err
		}
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return err
	}
	if tag := rows.CommandTag().String(); s.want != "" && tag != s.want {
		return fmt.Errorf("%s was answered by %q", s.sql, tag)
	}
	if s.tag != nil {
		return s.tag(rows.CommandTag().String())
	}
	return nil
}

// rollback ends a transaction; false when the link is gone, and with it the
// transaction.
func (l *link) rollback() bool {
	if l.conn.IsClosed() {
		return false
	}
	if l.conn.PgConn().TxStatus() == 'I' {
		return true
	}
	return l.run([]step{{sql: `rollback`}}) == nil
}

// drop closes the socket without a word.
func (l *link) drop() {
	l.conn.PgConn().Conn().Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = l.conn.Close(ctx)
	<-l.conn.PgConn().CleanupDone()
}

// close ends the session politely.
func (l *link) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := l.conn.Close(ctx); err != nil {
		return fmt.Errorf("closing a connection: %w", err)
	}
	<-l.conn.PgConn().CleanupDone()
	return nil
}
