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
	// conn is nil after a failure that it did not survive.
	conn *connection
	// until is when waiting for the locks of other processes ends.
	until time.Time
	// behind is the number of pages in the write-ahead log.
	behind int
}

func newCommitter(place location, first *connection, watches *watches) *committer {
	c := &committer{place: place, watches: watches}
	c.adopt(first)
	return c
}

// adopt makes conn the writing connection.
func (c *committer) adopt(conn *connection) {
	c.conn = conn
	c.conn.BusyHandler(func(_ context.Context, count int) bool {
		if !time.Now().Before(c.until) {
			return false
		}
		time.Sleep(min(time.Duration(count+1)*100*time.Microsecond, 2*time.Millisecond))
		return true
	})
	c.conn.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		c.behind = pages
		return nil
	})
}

func (c *committer) shut() error {
	if c.conn == nil {
		return nil
	}
	return c.conn.shut()
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
	c.checkpoint()
	return nil
}

// try runs the jobs in one transaction. A culprit is a job that left a
// half-done write behind; the transaction is rolled back then, and also when
// err says that the ledger cannot be written.
func (c *committer) try(jobs []*job) (culprit *job, err error) {
	if err := c.begin(); err != nil {
		return nil, err
	}
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
	if err := c.conn.use(stmtCommit).run(); err != nil {
		return nil, c.commitFailed(jobs, err)
	}
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
	c.until = time.Now().Add(patience)
	if c.conn == nil {
		conn, err := c.place.writer()
		if err != nil {
			return err
		}
		c.adopt(conn)
	}
	if err := c.conn.use(stmtBegin).run(); err != nil {
		c.abandon(err)
		return err
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
		c.conn.shut()
		c.conn = nil
	}
}

// commitFailed finds out what became of a commit that returned an error. The
// log may hold the whole transaction all the same, unsynced: a later recovery
// would bring it back. An empty write on a fresh connection puts something
// else in its place, after which one look tells.
func (c *committer) commitFailed(jobs []*job, why error) error {
	c.rollback(nil)
	if !errors.Is(why, sqlite3.IOERR) {
		return why
	}
	if c.conn != nil {
		c.conn.shut()
		c.conn = nil
	}
	there, err := c.overwrite(jobs)
	if err != nil {
		return fmt.Errorf("%w: %w", deed.ErrCommitUnknown, why)
	}
	if there {
		return nil
	}
	return why
}

// overwrite commits a write that changes nothing and reports whether the jobs
// are in the ledger.
func (c *committer) overwrite(jobs []*job) (there bool, err error) {
	if err := c.begin(); err != nil {
		return false, err
	}
	if err := c.conn.use(stmtTouch).run(); err != nil {
		return false, c.rollback(err)
	}
	there, err = c.witnessed(jobs)
	if err != nil {
		return false, c.rollback(err)
	}
	if err := c.conn.use(stmtCommit).run(); err != nil {
		return false, c.rollback(err)
	}
	return there, nil
}

// witnessed looks for the first operation that the jobs put: all or nothing
// of a transaction is there.
func (c *committer) witnessed(jobs []*job) (bool, error) {
	for _, j := range jobs {
		if j.err != nil {
			continue
		}
		for _, op := range j.put {
			version, there, err := readVersion(c.conn, op.Tenant, op.ID)
			return there && version >= op.Version && op.Version > 0, err
		}
	}
	return false, nil
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

const (
	// checkpointAt is the length of the write-ahead log, in pages, from which
	// it is copied into the file after a commit.
	checkpointAt = 1000
	// restartAt is the length at which new readers are kept waiting for the
	// moment that it takes to start the log anew.
	restartAt = 16000
)

// checkpoint copies the log into the file. Its failure loses nothing: the log
// stays.
func (c *committer) checkpoint() {
	if c.conn == nil || c.behind < checkpointAt {
		return
	}
	mode := sqlite3.CHECKPOINT_PASSIVE
	if c.behind >= restartAt {
		mode = sqlite3.CHECKPOINT_RESTART
	}
	c.until = time.Now().Add(100 * time.Millisecond)
	if _, _, err := c.conn.WALCheckpoint("main", mode); err != nil {
		c.abandon(err)
	}
}
