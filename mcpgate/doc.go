// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package mcpgate is the MCP gateway: it forwards raw JSON-RPC between a client and an upstream MCP server, byte for byte, and lets a Guard
// stand before tools/call and extend tools/list. It is not an MCP SDK: it knows no typed results, because a typed round trip loses fields,
// integers and hints, and its upstream connections are its own, because they must tell whether bytes of a request were written.
//
// It speaks stdio and Streamable HTTP on both sides, in the session eras (2025-06-18, 2025-11-25) and the stateless one (2026-07-28).
// Nothing in this package ever sends a tools/call twice.
//
// Start with Gateway: ServeStdio for a wrapped server, Handler for /mcp/{upstream}.
package mcpgate
