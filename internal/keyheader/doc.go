// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package keyheader reads the Idempotency-Key header, one way for every door
// that a call comes in by. It judges no key's shape: the Runtime does, by the
// rules of the identity that the key is for.
//
// Start with [Keys].
package keyheader
