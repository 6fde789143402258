// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package outcome classifies what came back from a dispatch: did the effect happen, certainly not happen, or may it have happened? It is
// tables and pure functions; it opens no connection and keeps no state. The rule behind every table: whatever is not proved is unknown, and
// an unknown outcome is never made to look like a failure.
//
// Start with MCP for an answer of an MCP server, HTTP for one of an HTTP API, Lost where no whole answer came.
package outcome
