// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package storetest holds the conformance suite of [deed.Store], the
// reference store that says in the plainest code what the contract means, and
// a clock that tests move by hand.
//
// It is for tests: a driver's own, and those of programs built on deed. The
// reference store keeps everything in memory and is no ledger.
//
// A driver's test calls [Run]; a test of something on top of a Store starts
// with [NewMemory].
package storetest
