// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package conformance runs the outside MCP conformance suites and compares, one
// check after the other, what a server passes directly with what it passes
// through the gateway. It judges no server by itself: the suites do. Start with
// [Suite.Run] and [Compare].
package conformance
