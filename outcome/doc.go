// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package outcome classifies what came back from a dispatch: did the effect
// happen, certainly not happen, or may it have happened? It is tables and pure
// functions; it opens no connection, and keeps no state beyond the one request
// that a [Trace] follows. The rule behind every table: whatever is not proved
// is unknown, and an unknown outcome is never made to look like a failure.
//
// Start with [MCP] for an answer of an MCP server, [HTTP] for one of an HTTP
// API, [SMTP] for the reply of a mail server, [Lost] where no whole answer
// came. [Trace] says of an HTTP request whether anything of it left, and keeps
// net/http from sending it twice.
package outcome
