// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package inject

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// Mishap is what happens to one tools/call.
type Mishap string

// The mishaps. In all of them the server receives the request; only what comes
// back, or how often it arrives, differs.
const (
	// None lets the call and its answer pass.
	None Mishap = ""
	// LoseReply lets the answer vanish: over a pipe the caller goes on waiting,
	// over HTTP the connection closes without a byte.
	LoseReply Mishap = "lose-reply"
	// CutReply sends the first half of the answer and ends the connection.
	CutReply Mishap = "cut-reply"
	// Crash ends the connection in place of the answer, and the process with it.
	Crash Mishap = "crash"
	// Duplicate sends the request twice in a row; one answer comes back.
	Duplicate Mishap = "dup"
)

// ParseMishap reads the name of a mishap.
func ParseMishap(name string) (Mishap, error) {
	known := []Mishap{LoseReply, CutReply, Crash, Duplicate}
	if !slices.Contains(known, Mishap(name)) {
		return None, fmt.Errorf("unknown mishap %q: use one of %v", name, known)
	}
	return Mishap(name), nil
}

// Plan strikes chosen calls.
type Plan struct {
	Mishap Mishap `json:"mishap"`
	// Tool limits the plan to calls of one tool; empty means every tools/call.
	Tool string `json:"tool,omitempty"`
	// Nth is the first call to be struck, counted from 1 since the plan was given
	// (0 means 1).
	Nth int `json:"nth,omitempty"`
	// Times is how many calls in a row are struck; 0 means 1, -1 all.
	Times int `json:"times,omitempty"`
}

// Seen is a tools/call on its way to the server.
type Seen struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Judge decides what happens to calls. It is safe for concurrent use.
type Judge interface {
	// Judge is asked once for every tools/call, before it is passed on. An error
	// ends the connection: a call that nobody counted must not pass.
	Judge(ctx context.Context, call Seen) (Mishap, error)
	// Struck is told once a mishap has happened.
	Struck(ctx context.Context, mishap Mishap)
}
