// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package daemon wires a configuration to a ledger, a Runtime and the gateways,
// and keeps what goes on in the background: recovery, retention, health. It
// parses no flags and prints nothing but through Log.
//
// [New] makes the server behind deed serve, [Open] the part that every other
// command needs: a ledger with a Runtime, and a Gate over it.
package daemon
