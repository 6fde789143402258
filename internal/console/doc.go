// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package console is the page on which people see what agents did and decide
// what only a person can: approvals, and operations whose outcome nobody knows.
//
// It renders HTML on the server and asks the Runtime for everything; it keeps
// no state of operations, and nothing depends on it. It is not an API for
// programs: that is /v1. Every form works without JavaScript; scripts add live
// notices, keys and partial reloads. GET changes nothing, whoever sends it.
//
// Start with [New].
package console
