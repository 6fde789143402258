// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// copier copies the write-ahead log into the file on a connection of its own,
// beside the writer. What is written meanwhile is left to the writer, who alone
// can find a moment in which the whole log is copied and may begin anew.
type copier struct {
	open    func() (*connection, error)
	state   atomic.Int32
	wake    chan struct{}
	stopped chan struct{}
}

// The states of a copier.
const (
	copierIdle = iota
	copierCopies
	copierCopied
)

func newCopier(place location) *copier {
	c := &copier{open: place.copier, wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	go c.loop()
	return c
}

// copied reports whether most of the log is in the file; if not, it sees to it.
// Where the copying failed, that is the writer's to find out.
func (c *copier) copied() bool {
	if c.state.CompareAndSwap(copierCopied, copierIdle) {
		return true
	}
	if c.state.CompareAndSwap(copierIdle, copierCopies) {
		c.wake <- struct{}{}
	}
	return false
}

func (c *copier) stop() {
	close(c.wake)
	<-c.stopped
}

func (c *copier) loop() {
	defer close(c.stopped)
	var conn *connection
	for range c.wake {
		if conn == nil {
			conn, _ = c.open()
		}
		if conn != nil {
			if _, _, err := conn.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE); broken(err) {
				conn.shut()
				conn = nil
			}
		}
		c.state.Store(copierCopied)
	}
	if conn != nil {
		conn.shut()
	}
}

// copier opens a connection that neither reads nor writes records.
func (p location) copier() (*connection, error) {
	conn, err := p.connect()
	if err != nil {
		return nil, err
	}
	if err := conn.Exec(`PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; PRAGMA trusted_schema = OFF`); err != nil {
		conn.shut()
		return nil, err
	}
	return conn, nil
}

// checkpoint sees to it that the log is copied into the file once it is long.
// When it has grown to many times that length, because there was always a reader
// in it, new readers are kept waiting for the moment that it takes to start it
// anew. A failure loses nothing: the log stays.
func (c *committer) checkpoint() {
	if c.conn == nil || c.behind < c.place.checkpointPages {
		return
	}
	mode := sqlite3.CHECKPOINT_PASSIVE
	if c.behind >= 16*c.place.checkpointPages {
		mode = sqlite3.CHECKPOINT_RESTART
	}
	if !c.copier.copied() && mode == sqlite3.CHECKPOINT_PASSIVE {
		return
	}
	c.until = time.Now().Add(100 * time.Millisecond)
	if _, _, err := c.conn.WALCheckpoint("main", mode); err != nil {
		c.abandon(err)
	}
}
