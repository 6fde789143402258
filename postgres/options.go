// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"time"

	"github.com/deed-run/deed"
)

// Options of a ledger; the zero value is ready for use.
type Options struct {
	// Clock replaces the database's clock, by which leases run out. It is for
	// tests: processes that share a ledger must share one clock.
	Clock deed.Clock
	// Writers is the number of connections that commit. A tenant's commits
	// follow each other; those of several tenants go side by side. 0 means 4.
	Writers int
	// Readers is the largest number of connections that read; 0 means 8.
	Readers int
	// MaxBatch bounds how many requests share one commit; 0 means 256.
	MaxBatch int
	// Patience bounds how long a write waits for its turn, for locks that
	// other processes hold and for the database, before it is
	// deed.ErrUnavailable; 0 means 5 s.
	Patience time.Duration
	// Listen is a connection string for LISTEN, which needs a session of its
	// own: name the database itself there when the ledger is reached through a
	// pooler. Empty means the ledger's own connection string, NoListen none.
	Listen string
	// Poll is how often the versions of operations that somebody waits for are
	// read, in case that no notification comes; 0 means 250 ms.
	Poll time.Duration
	// Application names this process to the database; empty means "deed".
	Application string
}

// NoListen in Options.Listen leaves waiting to polling alone.
const NoListen = "-"

func (o Options) withDefaults(address string) Options {
	if o.Writers <= 0 {
		o.Writers = 4
	}
	if o.Readers <= 0 {
		o.Readers = 8
	}
	if o.MaxBatch <= 0 {
		o.MaxBatch = 256
	}
	if o.Patience <= 0 {
		o.Patience = 5 * time.Second
	}
	if o.Listen == "" {
		o.Listen = address
	}
	if o.Poll <= 0 {
		o.Poll = 250 * time.Millisecond
	}
	if o.Application == "" {
		o.Application = "deed"
	}
	return o
}
