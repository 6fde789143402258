// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package enroll puts deed between an MCP client and the servers of its
// configuration file, and takes it out again: every local server entry becomes
// "deed mcp --name NAME -- ORIGINAL COMMAND AND ARGUMENTS", and everything else
// in the file keeps its bytes.
//
// It edits text; it never starts a server, never reads a client's other state
// and never prints. Start with [Find], then [Plan], show [Change.Diff], and
// [Apply]. [Undo] makes the opposite change, also applied by [Apply].
package enroll
