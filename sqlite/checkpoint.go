// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"time"

	"github.com/ncruces/go-sqlite3"
)

// checkpoint copies the log into the file once it is long. The writer does it, so
// that nothing is added meanwhile: SQLite syncs the file only when the whole log
// is in it, and takes for copied what it copied before even where that sync fails.
// When it has grown by many times that length, because there was always a reader
// in it, the writer waits a moment for those to leave, so that it starts anew.
// A failure loses nothing: the log stays.
func (c *committer) checkpoint() {
	if c.conn == nil || c.behind < c.place.checkpointPages {
		c.grown = 0
		return
	}
	mode := sqlite3.CHECKPOINT_PASSIVE
	if c.behind-c.grown >= 16*c.place.checkpointPages {
		// A reader that stays must not make every commit wait.
		mode, c.grown = sqlite3.CHECKPOINT_RESTART, c.behind
	}
	c.until = time.Now().Add(100 * time.Millisecond)
	if _, _, err := c.conn.WALCheckpoint("main", mode); err != nil {
		c.abandon(err)
	}
}
