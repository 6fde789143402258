// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"time"

	"github.com/deed-run/deed"
)

// Floor writes the rows, bytes and index entries that a Ledger writes, through
// the same driver and with the same syncs, and does nothing else: it reads
// nothing back, decides nothing, locks nothing against others and hands
// nothing over. The benchmarks hold a Ledger against it. It is no store: it
// believes every change and has one caller.
type Floor struct {
	writing *committer
	rows    map[deed.OperationID]stored
}

// OpenFloor opens an empty ledger file for bare writing.
func OpenFloor(ctx context.Context, path string, options Options) (*Floor, error) {
	options = options.withDefaults()
	place := locate(path, options)
	conn, err := place.prepare(ctx)
	if err != nil {
		return nil, err
	}
	return &Floor{
		writing: newCommitter(place, conn, newWatches(place.reader), newHot(0)),
		rows:    map[deed.OperationID]stored{},
	}, nil
}

// Write commits the changes in one transaction.
func (f *Floor) Write(changes ...deed.Change) error {
	conn := f.writing.conn
	f.writing.until = time.Now().Add(f.writing.place.patience)
	if err := conn.use(stmtBegin).run(); err != nil {
		return err
	}
	for i := range changes {
		if err := f.write(&changes[i]); err != nil {
			return f.writing.rollback(err)
		}
	}
	if err := conn.use(stmtCommit).run(); err != nil {
		return err
	}
	f.writing.checkpoint()
	return nil
}

func (f *Floor) write(change *deed.Change) error {
	work := loader{connection: f.writing.conn}
	for _, op := range change.Put {
		work.scope.Tenant = op.Tenant
		if at, known := f.rows[op.ID]; known {
			work.seen = append(work.seen, at)
		}
	}
	if err := work.write(*change); err != nil {
		return err
	}
	for _, at := range work.seen {
		f.rows[at.ID] = at
	}
	return nil
}

// Forget drops what the floor remembers of an operation, which would grow for
// ever otherwise.
func (f *Floor) Forget(id deed.OperationID) { delete(f.rows, id) }

// Close releases the file.
func (f *Floor) Close() error { return f.writing.shut() }
