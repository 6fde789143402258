// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package dotx tests deed.DoTx on a PostgreSQL of its own: an effect and its
// receipt in one transaction of the caller's. It has tests only.
//
// DEED_CUTS sets how often a connection is cut during COMMIT.
package dotx
