// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"time"

	"github.com/deed-run/deed"
)

// Surface says where calls come from, which names their spans.
type Surface string

const (
	// SurfaceGateway: MCP requests. Spans are `tools/call {tool}` of kind
	// server.
	SurfaceGateway Surface = ""
	// SurfaceLibrary: a program's own use of deed. Spans are
	// `execute_tool {tool}` of kind internal.
	SurfaceLibrary Surface = "library"
)

// Secrecy says how keys and fingerprints appear in spans.
type Secrecy string

const (
	// SecrecyHash writes "hmac-sha256:" and 16 hex digits. Keys embed order
	// numbers and addresses, and fingerprints of short arguments can be
	// guessed: without the secret neither can be tried out.
	SecrecyHash Secrecy = ""
	// SecrecyRaw writes them as they are, confidential registration keys
	// excepted.
	SecrecyRaw Secrecy = "raw"
	// SecrecyOff leaves them out.
	SecrecyOff Secrecy = "off"
)

// Options configure an Observer. The zero value is a gateway's.
type Options struct {
	Surface Surface
	// Transport is the network.transport of a gateway's callers: "pipe" for
	// stdio, "tcp" for HTTP; empty leaves it out.
	Transport string

	// Keys is the secrecy of keys and fingerprints, Secret the secret of
	// SecrecyHash: one per process is made when it is nil, so that hashes
	// compare within a process only.
	Keys   Secrecy
	Secret []byte
	// HideRemoteID leaves a tool's remote ids out of spans, for providers
	// whose ids are capabilities or name people; nil hides none. Those of
	// confidential registrations are always hidden.
	HideRemoteID func(deed.Tool) bool

	// Policy, when given, lets spans carry the effect class from their start,
	// where samplers see it; otherwise it is added with the answer.
	Policy deed.Policy
	// KnownTool says which tools have a span name and a label of their own,
	// all others being `_other`. When nil, the first MaxTools that are called
	// do.
	KnownTool func(deed.Tool) bool
	// MaxTools is 200 if 0.
	MaxTools int

	// OldestUncertain returns since when the oldest unresolved operation has
	// been uncertain, the zero time if there is none. It is asked at every
	// collection of metrics; nil leaves that gauge out.
	OldestUncertain func(context.Context) (time.Time, error)
	// Clock is the system's if nil.
	Clock deed.Clock
	// Version is the service.version of what [New] exports.
	Version string
}

const defaultMaxTools = 200

func (o Options) complete() Options {
	if o.Clock == nil {
		o.Clock = deed.SystemClock{}
	}
	if o.MaxTools == 0 {
		o.MaxTools = defaultMaxTools
	}
	return o
}
