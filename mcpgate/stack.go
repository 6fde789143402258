// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import "runtime"

// grown gives the goroutine that calls it a stack that a tools/call fits in, in one step. A new stack would grow by doubling where it is
// found to be too small, deep inside calls, and all of their frames are copied each time.
//
//go:noinline
func grown() {
	var frame [12 << 10]byte
	runtime.KeepAlive(&frame)
}
