// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"

	"github.com/deed-run/deed"
)

// readers is a pool of connections that write nothing and wait for nobody.
type readers struct {
	free chan *connection
	open func() (*connection, error)
}

func newReaders(size int, open func() (*connection, error)) *readers {
	r := &readers{free: make(chan *connection, size), open: open}
	for range size {
		r.free <- nil // opened when first needed
	}
	return r
}

// close waits for every connection to come back.
func (r *readers) close() error {
	var first error
	for range cap(r.free) {
		if c := <-r.free; c != nil {
			if err := c.shut(); err != nil && first == nil {
				first = err
			}
		}
	}
	return first
}

// read runs do on a connection of the pool. A connection that failed is
// replaced.
func (l *Ledger) read(ctx context.Context, do func(*connection) error) error {
	if err := l.mayRead(ctx); err != nil {
		return err
	}
	var c *connection
	select {
	case c = <-l.readers.free:
	case <-ctx.Done():
		return ctx.Err()
	case <-l.closing:
		return closedError()
	}
	if c == nil {
		opened, err := l.readers.open()
		if err != nil {
			l.readers.free <- nil
			return l.explain("reading", err)
		}
		c = opened
	}
	err := do(c)
	c.release()
	if broken(err) {
		c.shut()
		c = nil
	}
	l.readers.free <- c
	return l.explain("reading", err)
}

func (l *Ledger) mayRead(ctx context.Context) error {
	select {
	case <-l.closing:
		return closedError()
	default:
		return ctx.Err()
	}
}

// Load implements deed.Store. It reads on a connection of its own, or on the
// writer's while nobody writes, and never waits for a writer.
func (l *Ledger) Load(ctx context.Context, scope deed.Scope) (deed.View, error) {
	if op, found, ok := l.hot.byKey(scope); ok {
		return deed.View{Now: fromMicros(micros(l.clock.Now())), Operation: op, Found: found}, nil
	}
	mark, current := l.hot.mark()
	var view deed.View
	load := func(c *connection) error {
		reading := loader{connection: c, scope: scope}
		err := reading.load(l.clock.Now())
		view = reading.view
		if err == nil && current && view.Operation != nil {
			l.hot.keep(mark, scope, view.Found, reading.seen[0])
		}
		return err
	}
	if scope.Tool != "" {
		err := l.read(ctx, func(c *connection) error { return c.snapshot(func() error { return load(c) }) })
		return view, err
	}
	// What is read beside the named operation is read while its row is still
	// open, so from one snapshot. Adding up a budget may take long, and whoever
	// writes would wait for it.
	if len(scope.Budgets) == 0 && l.mayRead(ctx) == nil && l.writer.peek(load) {
		return view, nil
	}
	err := l.read(ctx, load)
	return view, err
}

// snapshot runs do within one read transaction.
func (c *connection) snapshot(do func() error) error {
	if err := c.use(stmtBeginRead).run(); err != nil {
		return err
	}
	err := do()
	c.release()
	if end := c.use(stmtCommit).run(); err == nil {
		err = end
	}
	return err
}

// prepare makes a statement of its own for a query that is not worth keeping.
func (c *connection) prepare(text string) (*statement, error) {
	s, _, err := c.Prepare(text)
	if err != nil {
		return nil, err
	}
	return &statement{Stmt: s}, nil
}

// shut closes the statements and the connection.
func (c *connection) shut() error {
	for _, s := range c.statements {
		if s != nil {
			s.Close()
		}
	}
	return c.Close()
}

// readVersion returns an operation's version, false if there is none.
func readVersion(c *connection, tenant deed.Tenant, id deed.OperationID) (int64, bool, error) {
	s := c.use(stmtVersion)
	s.text(string(tenant))
	s.operationID(string(id))
	var version int64
	there := s.next()
	if there {
		version = s.readInteger()
	}
	return version, there, s.end()
}
