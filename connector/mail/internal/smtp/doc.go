// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package smtp hands one mail to a submission server (RFC 5321, RFC 6409) and says exactly how far that came. It is no general client: one
// connection carries one transaction, nothing is pipelined, nothing is repeated, and no reply is guessed at.
//
// Start with [Server.Submit].
package smtp
