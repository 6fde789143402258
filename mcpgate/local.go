// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"

	"github.com/deed-run/deed"
)

// Local is a set of tools inside this process, such as those made of HTTP APIs and mail servers. Its methods are safe for concurrent use.
// Only types of package deed and of the standard library stand in it, so that packages that know nothing of MCP sessions implement it.
type Local interface {
	// Tools returns the result of an MCP tools/list: an object with the member "tools", all of them on one page. Hints and schemas in it are
	// pinned and trusted as those of any other upstream.
	Tools(ctx context.Context) ([]byte, error)
	// Call runs one tool once. arguments is the snapshot: what is sent is made of these bytes and of the grant alone.
	//
	// The grant tells operation, attempt, marks, provider key and send_by. Right before the first byte that can have an effect leaves,
	// grant.MaySend is asked; where it returns an error nothing is sent and the outcome is unsent. grant.TimeToSend bounds the writing. The
	// grants of read-only tools, and of observe mode, are Unrecorded and name no operation.
	//
	// The outcome says all that is known: unsent only where it is proved that no byte left, refused only where the provider definitely did
	// nothing, success only after a whole answer, unknown in every other case. Result, where there is one, is an MCP CallToolResult; Receipt
	// carries what was made, with Items for a batch. Nothing is ever sent twice.
	//
	// ctx does not end when the caller leaves. It ends when the gateway stops: what was sent by then is unknown.
	Call(ctx context.Context, tool string, grant *deed.Grant, arguments []byte) deed.Outcome
}

// LocalUpstream serves a Local as an upstream like any other, in every era of MCP. Tools is required.
type LocalUpstream struct {
	Tools Local
	// Name is what clients are told the server is called, by default "deed".
	Name string
	// Version is the server's version, by default "1".
	Version string
}

// Open returns a session with the tools. They have nothing to say by themselves, so that sink is never called.
func (u LocalUpstream) Open(func(Event), bool) Link {
	if u.Name == "" {
		u.Name = "deed"
	}
	if u.Version == "" {
		u.Version = "1"
	}
	l := &localLink{upstream: u}
	l.ctx, l.stop = context.WithCancelCause(context.Background())
	return l
}
