// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package outcomes holds the tests that play lost answers, crashes and lagging
// look-ups through the real gateway, and count what really happened in the
// ledger of the other side. It exports nothing. Start with matrix_test.go.
package outcomes
