// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
)

// watches wakes those who wait for an operation to move: at once for writes
// of this process, by notification for those of others, and by polling in
// case that a notification is lost.
type watches struct {
	ledger *Ledger
	// listen is nil when there is nobody to listen to.
	listen *pgx.ConnConfig
	news   *news
	count  atomic.Int64

	mu   sync.Mutex
	byID map[deed.OperationID]map[deed.Tenant]*watched
	// ended is closed when what runs while somebody waits has ended, nil when
	// nothing runs.
	ended  chan struct{}
	end    context.CancelFunc
	closed bool
}

// watched is one operation that somebody waits for.
type watched struct {
	waiters int
	// version is the newest version known here.
	version int64
	// moved is closed and replaced when version rises.
	moved chan struct{}
}

// idleAfter is how long the listener stays when nobody waits any more.
const idleAfter = 10 * time.Second

func newWatches(l *Ledger, listen *pgx.ConnConfig) *watches {
	return &watches{ledger: l, listen: listen, news: newNews(listen, l.options.Patience), byID: map[deed.OperationID]map[deed.Tenant]*watched{}}
}

// Watch implements deed.Store. An operation that does not exist is
// deed.ErrNotFound.
func (l *Ledger) Watch(ctx context.Context, tenant deed.Tenant, id deed.OperationID, version int64) (int64, error) {
	w := l.watches
	entry, err := w.add(tenant, id)
	if err != nil {
		return 0, err
	}
	defer w.remove(tenant, id)
	there, err := w.look(ctx, tenant, []deed.OperationID{id})
	if err != nil {
		return 0, l.explain(doingRead, err)
	}
	if there == 0 {
		return 0, fmt.Errorf("operation %s cannot be watched: %w", id, deed.ErrNotFound)
	}
	for {
		now, moved := w.current(entry)
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

// add counts a waiter before the version is read, so that no write between
// the two is missed.
func (w *watches) add(tenant deed.Tenant, id deed.OperationID) (*watched, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, closedError()
	}
	if w.byID[id] == nil {
		w.byID[id] = map[deed.Tenant]*watched{}
	}
	entry := w.byID[id][tenant]
	if entry == nil {
		entry = &watched{moved: make(chan struct{})}
		w.byID[id][tenant] = entry
	}
	entry.waiters++
	w.count.Add(1)
	if w.ended == nil {
		w.ended = make(chan struct{})
		ctx, cancel := context.WithCancel(context.Background())
		w.end = cancel
		go w.attend(ctx, cancel, w.ended)
	}
	return entry, nil
}

func (w *watches) remove(tenant deed.Tenant, id deed.OperationID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count.Add(-1)
	entry := w.byID[id][tenant]
	if entry.waiters--; entry.waiters > 0 {
		return
	}
	if delete(w.byID[id], tenant); len(w.byID[id]) == 0 {
		delete(w.byID, id)
	}
}

func (w *watches) current(entry *watched) (int64, chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return entry.version, entry.moved
}

// moved is told of every operation that this process has written.
func (w *watches) moved(tenant deed.Tenant, put []*deed.Operation) {
	for _, op := range put {
		if w.count.Load() > 0 {
			w.notify(tenant, op.ID, op.Version)
		}
		if op.Version > 1 {
			w.news.spread(op.ID)
		}
	}
}

func (w *watches) notify(tenant deed.Tenant, id deed.OperationID, version int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	entry := w.byID[id][tenant]
	if entry == nil || version <= entry.version {
		return
	}
	entry.version = version
	close(entry.moved)
	entry.moved = make(chan struct{})
}

// look reads the versions of operations of a tenant and returns how many
// there are.
func (w *watches) look(ctx context.Context, tenant deed.Tenant, ids []deed.OperationID) (there int, err error) {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = indexedText(string(id))
	}
	err = w.ledger.read(ctx, []step{{
		sql: `SELECT q.n, o.version FROM unnest($2::text[]) WITH ORDINALITY q(id, n)
			JOIN deed_operations o ON o.tenant = $1 AND o.id = q.id`,
		args: []any{indexedText(string(tenant)), texts},
		read: func(rows pgx.Rows) error {
			var n, version int64
			if err := rows.Scan(&n, &version); err != nil {
				return err
			}
			there++
			w.notify(tenant, ids[n-1], version)
			return nil
		},
	}})
	return there, err
}

// lookAll reads the versions of everything that is watched, or of what some
// ids may mean.
func (w *watches) lookAll(ctx context.Context, only []deed.OperationID) {
	byTenant := map[deed.Tenant][]deed.OperationID{}
	w.mu.Lock()
	if only == nil {
		for id := range w.byID {
			only = append(only, id)
		}
	}
	for _, id := range only {
		for tenant := range w.byID[id] {
			byTenant[tenant] = append(byTenant[tenant], id)
		}
	}
	w.mu.Unlock()
	for tenant, ids := range byTenant {
		// A failure is the next look's to make good.
		_, _ = w.look(ctx, tenant, ids)
	}
}

// attend listens and polls while somebody waits.
func (w *watches) attend(ctx context.Context, cancel context.CancelFunc, ended chan struct{}) {
	defer close(ended)
	defer cancel()
	var listening sync.WaitGroup
	defer listening.Wait()
	if w.listen != nil {
		listening.Go(func() { w.hear(ctx) })
	}
	defer cancel()
	ticker := time.NewTicker(w.ledger.options.Poll)
	defer ticker.Stop()
	quiet := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if w.count.Load() > 0 {
			quiet = time.Now()
			w.lookAll(ctx, nil)
			continue
		}
		if time.Since(quiet) > idleAfter && w.idle(ended) {
			return
		}
	}
}

// idle ends the attention when nobody waits any more.
func (w *watches) idle(ended chan struct{}) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.byID) > 0 {
		return false
	}
	if w.ended == ended {
		w.ended = nil
	}
	return true
}

// close ends what runs. Those who wait are woken by the ledger.
func (w *watches) close() error {
	w.mu.Lock()
	w.closed = true
	ended, end := w.ended, w.end
	w.mu.Unlock()
	if ended != nil {
		end()
		<-ended
	}
	w.news.stop()
	return nil
}
