// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"runtime"
	"time"

	"github.com/deed-run/deed"
)

// applicationID is "deed" in ASCII: it tells a ledger from other SQLite files.
const applicationID = 0x64656564

// Options of a ledger; the zero value is ready for use.
type Options struct {
	// Clock tells the ledger's time, by which leases run out; nil is the
	// system clock. Processes that share a file share the machine's clock.
	Clock deed.Clock
	// MaxBatch bounds how many requests share one commit; 0 means 1024.
	MaxBatch int
	// Readers is the number of connections that read beside the writer; 0
	// means one per processor, at least 2 and at most 8.
	Readers int
	// CheckpointPages is the length of the write-ahead log, in pages of 4 KiB,
	// from which it is copied into the file after a commit; 0 means 1000.
	CheckpointPages int
	// Patience bounds how long a write waits for its turn and for locks that
	// other processes hold, before it is deed.ErrUnavailable; 0 means 5 s.
	Patience time.Duration
	// Memory bounds, in bytes, the operations that are kept in memory beside the
	// file; 0 means 32 MiB, a negative number keeps none.
	Memory int
	// VFS names a SQLite VFS registered in this process, through which tests
	// inject faults; empty is the operating system's files.
	VFS string
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = deed.SystemClock{}
	}
	if o.MaxBatch <= 0 {
		o.MaxBatch = 1024
	}
	if o.Readers <= 0 {
		o.Readers = min(max(runtime.GOMAXPROCS(0), 2), 8)
	}
	if o.CheckpointPages <= 0 {
		o.CheckpointPages = 1000
	}
	if o.Memory == 0 {
		o.Memory = 32 << 20
	}
	if o.Patience <= 0 {
		o.Patience = 5 * time.Second
	}
	return o
}
