// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"runtime"

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
	return o
}
