// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"time"

	"github.com/ncruces/go-sqlite3"
)

// checkpoint copies the log into the file once it is long. The writer does it, so
// that nothing is added meanwhile: SQLite syncs the file only when the whole log
// is in it, and takes for copied what it copied before even where that sync fails.
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
	c.until = time.Now().Add(100 * time.Millisecond)
	if _, _, err := c.conn.WALCheckpoint("main", mode); err != nil {
		c.abandon(err)
	}
}
