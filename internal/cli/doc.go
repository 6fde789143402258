// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package cli is the command line of deed: flags, output and exit codes around
// package daemon and the public packages. It decides nothing about operations.
//
// Everything a command touches comes in through a [Process], so that every
// command runs inside a test. Use [Run].
package cli
