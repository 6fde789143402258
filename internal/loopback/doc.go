// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package loopback is what deed knows of the loopback interface: which names and
// addresses are this machine, whether a browser was led to it under another name,
// and ports for servers that must be told theirs before they start. It serves
// nothing itself, and asks no resolver of names.
//
// Start with [Named] for requests, with [Reserve] for ports.
package loopback
