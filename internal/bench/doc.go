// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package bench measures the Runtime on the shipping ledger, beside what the
// disk and the driver allow and beside other ways to the same tool.
//
// Absolute figures say more about a machine than about a program, so every
// target is a ratio of two measurements that took turns in one run, or a
// bound that any machine of today should hold. It is not a load generator for
// somebody else's gateway.
//
// Start with [Run].
package bench
