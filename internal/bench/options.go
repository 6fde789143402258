// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"io"
	"time"
)

// Options say what is measured and how often. The zero value measures
// everything with the sizes that the targets are meant for.
type Options struct {
	// Dir is where ledgers are written; empty means the folder for temporary
	// files, or the working folder when that is in memory. It must be on a
	// disk.
	Dir string
	// Program is the path of deed, whose gateway is measured as a process.
	Program string
	// MCPProxy is the command of npm's mcp-proxy; empty leaves it out, and the
	// report says so.
	MCPProxy []string
	// Only names the parts to run: "guarded", "replay", "size", "mcp". Empty
	// means all.
	Only []string

	// Rounds is how often each comparison is repeated; the median counts.
	Rounds int
	// Single and Grouped are the calls per round with 1 and with 64 callers.
	Single, Grouped int
	// HotKeys and Replays are the operations that are replayed and the number
	// of replays per round.
	HotKeys, Replays int
	// Operations is the size of the large ledger.
	Operations int
	// Probes is the number of calls per round on the large and the empty
	// ledger.
	Probes int
	// Requests is the number of tool calls per round and way over MCP.
	Requests int

	// Progress is told what is being done; nil is silent.
	Progress io.Writer
	// Profile, when it is set, names a folder for profiles of each part, which
	// is made where there is none.
	Profile string
}

const callers = 64

func (o Options) withDefaults() Options {
	orDefault(&o.Rounds, 5)
	orDefault(&o.Single, 400)
	orDefault(&o.Grouped, 12800)
	orDefault(&o.HotKeys, 10000)
	orDefault(&o.Replays, 60000)
	orDefault(&o.Operations, 50000)
	orDefault(&o.Probes, 200)
	orDefault(&o.Requests, 400)
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	return o
}

func orDefault(n *int, otherwise int) {
	if *n <= 0 {
		*n = otherwise
	}
}

// settleDown is how long the machine gets between two measurements, so that
// what the kernel still writes for one does not slow the next.
const settleDown = 50 * time.Millisecond
