// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package sqlite keeps the ledger in one SQLite file, without cgo.
//
// It is the default [deed.Store] of a single machine: any number of
// processes may share the file, and each of them writes through one
// goroutine that commits many transactions with one sync of the disk.
// Readers never wait for it. It replicates nothing and is not for network
// file systems, whose locks and syncs cannot be trusted.
//
// Start with [Open].
package sqlite
