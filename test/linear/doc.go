// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package linear checks that what callers are told of one key could have been
// told by a single ledger that answers one call at a time (linearizability),
// with many callers, several processes on one ledger, and processes killed in
// the middle. It has tests only. Start with the model in model_test.go.
//
// DEED_HISTORIES sets how many histories are recorded on each ledger.
package linear
