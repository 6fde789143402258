// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package audit keeps a transparency log of one tenant's events: a Merkle tree
// over what the ledger recorded, with a signed checkpoint of its size and root.
// Whoever holds an earlier checkpoint notices when history was changed, taken
// out or put in afterwards, by anybody: also by those who run the ledger.
//
// It is not the ledger. Nothing waits for the log, nothing is decided by it, and
// it says nothing about events that were never recorded. It proves no more than
// its checkpoints that others keep: who has the key and every copy of every
// checkpoint can make another log.
//
// The folder is that of C2SP's tlog-tiles (https://c2sp.org/tlog-tiles), and the
// checkpoint is that of tlog-checkpoint, signed as a note with Ed25519, so that
// a log can be verified without this package.
//
// [Create] makes a log and [NewKey] the key of one; a [Follower] appends what a
// ledger has recorded since; [Log.Verify] compares the two; [Log.Prove] and
// [Proof.Check] show one operation's records to somebody who has neither.
package audit
