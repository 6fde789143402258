// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/deed-run/deed"
)

// committer runs batches of jobs in one transaction each.
type committer struct {
	place   location
	watches *watches
	hot     *hot
	// files are those that the first connection opened; a later one of this
	// process must have the same.
	files files
	// wrote is set by a commit that added to the log.
	wrote bool
	// conn is nil after a failure that it did not survive.
	conn *connection
	// log is conn's, nil when it is not known.
	log *frameLog
	// suspect is set when the log may end in frames that never reached the
	// disk.
	suspect bool
	// until is when waiting for the locks of other processes ends.
	until time.Time
	// behind is the number of pages in the write-ahead log.
	behind int
	// grown is behind when readers were last waited for, so that the log could
	// start anew; 0 for a log that did.
	grown int
}

func newCommitter(place location, first *connection, watches *watches, hot *hot) *committer {
	c := &committer{place: place, watches: watches, hot: hot}
	c.adopt(first)
	return c
}

// adopt makes conn the writing connection.
func (c *committer) adopt(conn *connection) {
	c.conn, c.log = conn, frameLogOf(conn)
	// Should it not be set, a busy ledger is told of at once: nothing is lost.
	_ = c.conn.BusyHandler(func(_ context.Context, count int) bool {
		if !time.Now().Before(c.until) {
			return false
		}
		time.Sleep(min(time.Duration(count+1)*100*time.Microsecond, 2*time.Millisecond))
		return true
	})
	c.conn.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		c.behind, c.wrote = pages, true
		return nil
	})
	if c.place.vfs == "" {
		if c.files == nil {
			c.files = filesOf(c.place.path)
		}
		c.hot.watch(c.place.path)
	}
}

func (c *committer) shut() error {
	c.hot.forget()
	if c.conn == nil {
		return nil
	}
	conn := c.conn
	c.conn = nil
	return conn.shut()
}

// commit writes the batch durably and sets every job's outcome. Its error is
// that of the ledger, and every job's too: then nothing was written. A job
// that fails by itself is taken out and the others are written without it.
func (c *committer) commit(batch []*job) error {
	pending := slices.Clone(batch)
	for len(pending) > 0 {
		culprit, err := c.try(pending)
		if err != nil {
			for _, j := range batch {
				j.err, j.panicked = err, nil
			}
			return err
		}
		if culprit == nil {
			c.tell(pending)
			break
		}
		pending = slices.DeleteFunc(pending, func(j *job) bool { return j == culprit })
	}
	return nil
}

// try runs the jobs in one transaction. A culprit is a job that left a
// half-done write behind; the transaction is rolled back then, and also when
// err says that the ledger cannot be written.
func (c *committer) try(jobs []*job) (culprit *job, err error) {
	if err := c.begin(); err != nil {
		return nil, err
	}
	c.conn.memory = nil
	if _, current := c.hot.mark(); current {
		c.conn.memory = c.hot
	}
	clear(c.conn.touched)
	for _, j := range jobs {
		before := c.conn.TotalChanges()
		j.err = c.runOne(j)
		c.conn.release()
		if j.err == nil {
			continue
		}
		if j.panicked == nil && ledgerFailed(j.err) {
			return nil, c.rollback(j.err)
		}
		if j.panicked != nil || c.conn.TotalChanges() != before {
			return j, c.rollback(nil)
		}
	}
	c.wrote = false
	c.log.gather()
	err = c.conn.use(stmtCommit).run()
	c.log.end()
	if err != nil {
		return nil, c.commitFailed(err)
	}
	c.hot.committed(jobs, c.wrote)
	return nil, nil
}

var errPanicked = errors.New("the change panicked")

func (c *committer) runOne(j *job) (err error) {
	j.panicked = nil
	defer func() {
		if r := recover(); r != nil {
			j.panicked, err = r, errPanicked
		}
	}()
	return j.run(c.conn)
}

// begin opens the transaction and checks that the ledger is still of a
// version that this program may write.
func (c *committer) begin() error {
	c.until = time.Now().Add(c.place.patience)
	if c.conn == nil {
		conn, err := c.place.writer()
		if err != nil {
			return err
		}
		c.adopt(conn)
	}
	if err := c.distrust(); err != nil {
		return err
	}
	if err := c.conn.use(stmtBegin).run(); err != nil {
		c.abandon(err)
		return err
	}
	if err := c.files.check(); err != nil {
		return c.rollback(err)
	}
	s := c.conn.use(stmtSchemaVersion)
	version := int64(-1)
	if s.next() {
		version = s.readInteger()
	}
	if err := s.end(); err != nil {
		return c.rollback(err)
	}
	if version != newestVersion() {
		return c.rollback(versionError(version))
	}
	return nil
}

// rollback ends the transaction and returns why, or what else went wrong.
func (c *committer) rollback(why error) error {
	c.conn.release()
	if !c.conn.GetAutocommit() {
		if err := c.conn.use(stmtRollback).run(); err != nil && why == nil {
			why = err
		}
	}
	c.abandon(why)
	return why
}

// abandon drops a connection that cannot be trusted any more.
func (c *committer) abandon(why error) {
	if broken(why) {
		c.drop()
	}
}

func (c *committer) drop() {
	c.hot.forget()
	if c.conn != nil {
		// The last connection to close would remove the log and its index, and the
		// next one would take the new index for one that somebody put there.
		_, _ = c.conn.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
		c.conn.shut()
		c.conn = nil
	}
}

// commitFailed makes sure of what became of a commit that returned an error.
// Where a write failed, the log ends before the frame that commits. Where the
// sync failed, it may hold the whole transaction all the same, and a
// later recovery would bring it back. The connection still knows where the log
// ended: another write there replaces it, after which it is certainly gone.
func (c *committer) commitFailed(why error) error {
	if err := c.rollback(nil); err != nil || !errors.Is(why, sqlite3.IOERR) {
		return why
	}
	if errors.Is(why, sqlite3.IOERR_WRITE) {
		c.drop()
		return why
	}
	if err := c.overwrite(); err != nil {
		c.drop()
		c.suspect = true
		return fmt.Errorf("%w: %w", deed.ErrCommitUnknown, why)
	}
	return why
}

// overwrite commits a write without meaning.
func (c *committer) overwrite() error {
	if err := c.conn.use(stmtBegin).run(); err != nil {
		return err
	}
	if err := c.conn.use(stmtTouch).run(); err != nil {
		return c.rollback(err)
	}
	return c.conn.use(stmtCommit).run()
}

// distrust empties the log into the file before anything is added to it: after
// a sync has failed, the next one may succeed without what was before it.
func (c *committer) distrust() error {
	if !c.suspect {
		return nil
	}
	if _, _, err := c.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE); err != nil {
		c.abandon(err)
		return err
	}
	c.suspect = false
	return nil
}

// tell wakes those who watch what was written.
func (c *committer) tell(jobs []*job) {
	if !c.watches.any() {
		return
	}
	for _, j := range jobs {
		if j.err != nil {
			continue
		}
		for _, op := range j.put {
			c.watches.notify(op.Tenant, op.ID, op.Version)
		}
	}
}
