// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package caller is a small MCP client that shows exactly what came back.
//
// It sends what it is told, once, over stdio or Streamable HTTP, in either
// protocol era, and never repeats, reconnects or completes anything: a lost
// answer is an error (ErrNoAnswer). It is no general client: it lists tools,
// calls them and reads tasks.
//
// Start with [StartStdio] for a server that is a command, [DialHTTP] for a URL.
package caller
