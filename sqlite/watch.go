// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deed-run/deed"
)

// pollEvery is how often the file is asked whether another process has
// written, while somebody waits.
const pollEvery = 25 * time.Millisecond

// watches wakes those who wait for an operation to move: at once for writes
// of this process, by polling for those of others.
type watches struct {
	open  func() (*connection, error)
	count atomic.Int64

	mu     sync.Mutex
	byID   map[watchedID]*watched
	closed bool
	// polling is closed when the poller has ended, nil while there is none.
	polling chan struct{}
	stop    chan struct{}
}

type watchedID struct {
	tenant deed.Tenant
	id     deed.OperationID
}

// watched is one operation that somebody waits for.
type watched struct {
	waiters int
	// version is the newest version known here.
	version int64
	// moved is closed and replaced when version rises.
	moved chan struct{}
}

func newWatches(open func() (*connection, error)) *watches {
	return &watches{open: open, byID: map[watchedID]*watched{}, stop: make(chan struct{})}
}

func (w *watches) any() bool { return w.count.Load() > 0 }

// Watch implements deed.Store. An operation that does not exist is
// deed.ErrNotFound.
func (l *Ledger) Watch(ctx context.Context, tenant deed.Tenant, id deed.OperationID, version int64) (int64, error) {
	key := watchedID{tenant, id}
	if err := l.watches.add(key); err != nil {
		return 0, err
	}
	defer l.watches.remove(key)
	var there bool
	err := l.read(ctx, func(c *connection) (err error) {
		var now int64
		now, there, err = readVersion(c, tenant, id)
		l.watches.notify(tenant, id, now)
		return err
	})
	if err != nil {
		return 0, err
	}
	if !there {
		return 0, fmt.Errorf("operation %s cannot be watched: %w", id, deed.ErrNotFound)
	}
	for {
		now, moved := l.watches.current(key)
		if now > version {
			return now, nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-l.closing:
			return 0, closedError()
		}
	}
}

// add counts a waiter before it reads the version, so that no write between
// the two is missed.
func (w *watches) add(key watchedID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return closedError()
	}
	entry := w.byID[key]
	if entry == nil {
		entry = &watched{moved: make(chan struct{})}
		w.byID[key] = entry
	}
	entry.waiters++
	w.count.Add(1)
	if w.polling == nil {
		w.polling = make(chan struct{})
		go w.poll(w.polling)
	}
	return nil
}

func (w *watches) remove(key watchedID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count.Add(-1)
	entry := w.byID[key]
	if entry.waiters--; entry.waiters == 0 {
		delete(w.byID, key)
	}
}

func (w *watches) current(key watchedID) (int64, chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	entry := w.byID[key]
	return entry.version, entry.moved
}

func (w *watches) notify(tenant deed.Tenant, id deed.OperationID, version int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	entry := w.byID[watchedID{tenant, id}]
	if entry == nil || version <= entry.version {
		return
	}
	entry.version = version
	close(entry.moved)
	entry.moved = make(chan struct{})
}

// close ends the poller. Those who wait are woken by the ledger.
func (w *watches) close() error {
	w.mu.Lock()
	w.closed = true
	polling := w.polling
	close(w.stop)
	w.mu.Unlock()
	if polling != nil {
		<-polling
	}
	return nil
}

// poll runs while somebody waits. The file's data version changes with every
// commit; a connection that fails is replaced at the next turn.
func (w *watches) poll(ended chan struct{}) {
	defer close(ended)
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	var conn *connection
	defer func() {
		if conn != nil {
			conn.shut()
		}
	}()
	seen := int64(-1)
	for {
		select {
		case <-w.stop:
			return
		case <-ticker.C:
		}
		if w.idle(ended) {
			return
		}
		if conn == nil {
			opened, err := w.open()
			if err != nil {
				continue
			}
			conn, seen = opened, -1
		}
		if err := w.look(conn, &seen); err != nil {
			conn.shut()
			conn = nil
		}
	}
}

// idle ends the poller's turn when nobody waits any more.
func (w *watches) idle(ended chan struct{}) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.byID) > 0 {
		return false
	}
	if w.polling == ended {
		w.polling = nil
	}
	return true
}

// look reads the versions of what is watched if anything was committed since
// the last look.
func (w *watches) look(conn *connection, seen *int64) error {
	s := conn.use(stmtDataVersion)
	now := *seen
	if s.next() {
		now = s.readInteger()
	}
	if err := s.end(); err != nil {
		return err
	}
	if now == *seen {
		return nil
	}
	*seen = now
	w.mu.Lock()
	keys := make([]watchedID, 0, len(w.byID))
	for key := range w.byID {
		keys = append(keys, key)
	}
	w.mu.Unlock()
	for _, key := range keys {
		version, there, err := readVersion(conn, key.tenant, key.id)
		if err != nil {
			return err
		}
		if there {
			w.notify(key.tenant, key.id, version)
		}
	}
	return nil
}
