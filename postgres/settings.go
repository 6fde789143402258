// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
)

const sqlSetting = `SELECT value FROM deed_settings WHERE name = $1`

// Setting implements deed.Store. update may be called again when another
// process writes the setting at the same time.
func (l *Ledger) Setting(ctx context.Context, name string, update func(old []byte) []byte) ([]byte, error) {
	if update == nil {
		var value []byte
		err := l.read(ctx, []step{{sql: sqlSetting, args: []any{indexedText(name)}, read: func(rows pgx.Rows) error { return rows.Scan(&value) }}})
		return value, l.explain(doingRead, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if l.isClosed() {
		return nil, closedError()
	}
	var value []byte
	err := l.aside.do(func(link *link) (err error) {
		value, err = replaceSetting(link, l.options.Patience, indexedText(name), update)
		return err
	})
	if err != nil {
		return nil, l.explain(doingWrite, err)
	}
	return value, nil
}

// replaceSetting locks the row, which it makes if there is none, and decides
// on what it then holds. A setting that is to stay as it is costs a look: when
// many callers start at once, each of them puts the same rules in force.
func replaceSetting(link *link, patience time.Duration, name string, update func(old []byte) []byte) ([]byte, error) {
	var old []byte
	look := step{sql: sqlSetting, args: []any{name}, read: func(rows pgx.Rows) error { return rows.Scan(&old) }}
	if err := link.run([]step{look}); err != nil {
		return nil, err
	}
	if old != nil && stays(old, update(bytes.Clone(old))) {
		return old, nil
	}
	old = nil
	opening := opened(patience, step{sql: sqlSetting + ` FOR UPDATE`, args: []any{name}, read: func(rows pgx.Rows) error { return rows.Scan(&old) }})
	if err := opening.run(link); err != nil {
		return nil, err
	}
	next := update(bytes.Clone(old))
	if stays(old, next) {
		link.rollback()
		return old, nil
	}
	value := append([]byte{}, next...)
	write := step{sql: `UPDATE deed_settings SET value = $2 WHERE name = $1`, want: "UPDATE 1"}
	if old == nil {
		write = step{sql: `INSERT INTO deed_settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING`, want: "INSERT 0 1"}
	}
	write.args = []any{name, value}
	// The guard is a round trip of its own: what another process made first is
	// decided on anew.
	if err := link.run([]step{write}); err != nil {
		link.rollback()
		if databaseError(err) == nil && !link.conn.IsClosed() {
			return nil, errAgain
		}
		return nil, err
	}
	return value, link.commit()
}

// stays reports whether an update leaves a setting as it is.
func stays(old, next []byte) bool {
	return next == nil || old != nil && bytes.Equal(old, next)
}

var errAgain = errors.New("another process was first")

// commit ends a transaction that stands by itself.
func (l *link) commit() error {
	l.warned.Store(false)
	err := l.run([]step{{sql: `commit`, want: "COMMIT"}})
	switch {
	case err == nil && l.warned.Load():
		return fmt.Errorf("%w: %w", deed.ErrCommitUnknown, errWarned)
	case err != nil && !(notCommitted(err) && !l.conn.IsClosed()):
		return fmt.Errorf("%w: %w", deed.ErrCommitUnknown, err)
	}
	return err
}

// openedTransaction begins a transaction and checks the ledger's version.
type openedTransaction struct {
	version int64
	steps   []step
}

func opened(patience time.Duration, more ...step) *openedTransaction {
	o := &openedTransaction{}
	b := &batch{}
	o.steps = append([]step{{sql: sqlBegin}, {sql: sqlSettings, args: []any{milliseconds(patience * 4 / 5), milliseconds(patience)},
		read: func(rows pgx.Rows) error {
			err := b.readVersion(rows)
			o.version = b.version
			return err
		}}}, more...)
	return o
}

func (o *openedTransaction) run(link *link) error {
	err := link.run(o.steps)
	if err == nil && o.version != newestVersion {
		err = versionError(o.version)
	}
	if err != nil {
		link.rollback()
	}
	return err
}

// aside is a connection for writes that belong to no tenant's batches.
type aside struct {
	config   *pgx.ConnConfig
	patience time.Duration

	mu     sync.Mutex
	link   *link
	closed bool
}

// do runs one write, again when it lost a race or broke before its commit.
func (a *aside) do(write func(*link) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for try := 1; ; try++ {
		if a.closed {
			return closedError()
		}
		if a.link == nil {
			link, err := openLink(a.config, a.patience)
			if err != nil {
				return err
			}
			a.link = link
		}
		err := write(a.link)
		if a.link.conn.IsClosed() {
			a.link.drop()
			a.link = nil
		}
		again := errors.Is(err, errAgain) || err != nil && passing(err) && !errors.Is(err, deed.ErrCommitUnknown)
		if !again || try == tries {
			return err
		}
	}
}

func (a *aside) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.link == nil {
		return nil
	}
	return a.link.close()
}
