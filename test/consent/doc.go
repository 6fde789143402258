// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package consent asks gateways, as processes on one ledger in SQLite or
// PostgreSQL, how often an approval is spent and whether a budget holds: under
// SIGKILL, under many approvers and spenders at once, and with two gateways. What
// counts is what the provider did. It has tests only. Start with desk_test.go.
//
// DEED_KILLS is how many approvals each ledger is to have caught by a kill, between
// consent and receipt (100; with DEED_CAMPAIGN=1, 1,000). One SIGKILL catches up
// to six; the log says how many processes died.
package consent
