// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package postgres keeps the ledger in a PostgreSQL database, for any number
// of processes.
//
// It is the [deed.Store] of many machines. Each process commits the requests
// of many callers together, one tenant at a time; processes keep out of each
// other's way by row locks and by compare-and-set. Calls take no advisory
// lock, sequence or trigger; only a change of the schema takes a lock (one
// advisory lock). It replicates nothing, elects nobody and decides nothing:
// what the database acknowledged is what counts.
//
// Start with [Open].
package postgres
