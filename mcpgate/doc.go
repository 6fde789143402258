// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package mcpgate is the MCP gateway: it forwards raw JSON-RPC between a client
// and an upstream MCP server, byte for byte, and lets a [Guard] stand before
// tools/call and extend tools/list. It is not an MCP SDK: it knows no typed
// results, because a typed round trip loses fields, integers and hints, and its
// upstream connections are its own, because they must tell whether bytes of a
// request were written.
//
// It speaks stdio and Streamable HTTP on both sides, in the session eras
// (2025-06-18, 2025-11-25) and the stateless one (2026-07-28). Nothing in this
// package ever sends a tools/call twice.
//
// A [Local] serves tools of this process as an upstream like any other. Held
// calls are tasks for clients that take tasks; a person decides about them
// elsewhere, never through this package.
//
// Start with [Stdio] for a wrapped server, [NewHandler] for /mcp/{upstream},
// and [NewGate] for the Guard between.
package mcpgate
