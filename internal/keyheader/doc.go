// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package keyheader reads keys, one way for every door that a call comes in by:
// from the Idempotency-Key header, and from a member of a JSON document. It
// judges no key's shape: the Runtime does, by the rules of the identity that the
// key is for.
//
// Start with [Keys], and with [Member] for JSON.
package keyheader
