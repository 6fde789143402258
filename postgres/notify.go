// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/deed-run/deed"
)

// channel is where processes tell each other which operations have moved. A
// message is a list of ids and nothing more: whoever hears it reads the
// ledger.
const channel = "deed_moved"

const (
	// longestNews keeps a message below the 8,000 bytes that one may have.
	longestNews = 7000
	// mostNews bounds what waits to be told: the rest is found by polling.
	mostNews = 1 << 14
	// newsEvery is the pause in which news gather to a message.
	newsEvery = 20 * time.Millisecond
	// newsRetry is the pause after a connection for news has failed.
	newsRetry = time.Second
)

// listenConfig is the configuration of the connections that tell and hear;
// nil for NoListen.
func listenConfig(options Options) (*pgx.ConnConfig, error) {
	if options.Listen == NoListen {
		return nil, nil
	}
	config, err := pgx.ParseConfig(options.Listen)
	if err != nil {
		return nil, err
	}
	name(config, options.Application)
	return config, nil
}

// news tells other processes what has moved, after the commit and outside of
// it: a NOTIFY within would make all commits of the database wait for each
// other, and a lost message costs no more than a poll.
type news struct {
	config   *pgx.ConnConfig
	patience time.Duration

	mu      sync.Mutex
	ids     []deed.OperationID
	running bool
	ended   sync.WaitGroup
	ctx     context.Context
	cancel  context.CancelFunc
}

func newNews(config *pgx.ConnConfig, patience time.Duration) *news {
	n := &news{config: config, patience: patience}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// spread hands an id over and returns at once.
func (n *news) spread(id deed.OperationID) {
	if n.config == nil || strings.ContainsAny(string(id), " \x00") || storedText(string(id)) != string(id) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx.Err() != nil || len(n.ids) >= mostNews {
		return
	}
	n.ids = append(n.ids, id)
	if !n.running {
		n.running = true
		n.ended.Add(1)
		go n.run()
	}
}

// run tells until there has been nothing to tell for a while.
func (n *news) run() {
	defer n.ended.Done()
	var conn *pgx.Conn
	defer func() { closeConn(conn) }()
	quiet := 0
	for {
		message := n.next()
		if message == "" {
			if quiet++; n.rest(quiet) {
				return
			}
			continue
		}
		quiet = 0
		ctx, cancel := context.WithTimeout(n.ctx, n.patience)
		var err error
		if conn == nil {
			conn, err = pgx.ConnectConfig(ctx, n.config)
		}
		if err == nil {
			_, err = conn.Exec(ctx, `SELECT pg_notify($1, $2)`, channel, message)
		}
		cancel()
		pause(n.ctx, newsEvery)
		if err != nil {
			closeConn(conn)
			conn = nil
			pause(n.ctx, newsRetry)
		}
	}
}

// rest waits for more, and ends the run after many turns without any.
func (n *news) rest(quiet int) bool {
	pause(n.ctx, newsEvery)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx.Err() != nil || quiet > 200 && len(n.ids) == 0 {
		n.running = false
		return true
	}
	return false
}

func (n *news) next() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var text strings.Builder
	taken := 0
	for _, id := range n.ids {
		if text.Len()+len(id)+1 > longestNews {
			break
		}
		if taken++; taken > 1 {
			text.WriteByte(' ')
		}
		text.WriteString(string(id))
	}
	n.ids = append(n.ids[:0:0], n.ids[taken:]...)
	return text.String()
}

func (n *news) stop() {
	n.mu.Lock()
	n.cancel()
	n.mu.Unlock()
	n.ended.Wait()
}

// hear reads what the others tell, until ctx ends.
func (w *watches) hear(ctx context.Context) {
	for ctx.Err() == nil {
		w.hearOnce(ctx)
		pause(ctx, newsRetry)
	}
}

func (w *watches) hearOnce(ctx context.Context) {
	conn, err := pgx.ConnectConfig(ctx, w.listen)
	if err != nil {
		return
	}
	defer func() { closeConn(conn) }()
	if _, err := conn.Exec(ctx, `LISTEN `+channel); err != nil {
		return
	}
	// What moved while nobody listened is found at once.
	w.lookAll(ctx, nil)
	for {
		message, err := conn.WaitForNotification(ctx)
		if err != nil {
			return
		}
		if only := w.known(message.Payload); len(only) > 0 {
			w.lookAll(ctx, only)
		}
	}
}

// known are the ids of a message that somebody here waits for.
func (w *watches) known(message string) []deed.OperationID {
	w.mu.Lock()
	defer w.mu.Unlock()
	var only []deed.OperationID
	for id := range strings.SplitSeq(message, " ") {
		if w.byID[deed.OperationID(id)] != nil {
			only = append(only, deed.OperationID(id))
		}
	}
	return only
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func closeConn(conn *pgx.Conn) {
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
	<-conn.PgConn().CleanupDone()
}
