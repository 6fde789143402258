// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package inject loses, cuts and doubles what travels between an MCP client and
// a server, at a chosen call and without chance.
//
// It knows JSON-RPC lines and HTTP requests and nothing about gateways or
// ledgers, so it can stand on either side of one. What it does to a call is
// decided by a [Controller], in this process or in another one, so a plan
// outlives a pipe that was killed on purpose.
//
// Use [Streams] around the standard streams of a program, [Pipe] around a
// command and [Proxy] in front of a URL.
package inject
