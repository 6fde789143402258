//go:build !linux

// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package replicas_test

func (f *fleet) inLittleRoom() {
	f.Helper()
	f.Skip("a small file system is mounted on Linux only; that of the ledger in SQLite stands in")
}

func (f *fleet) fillUp() (ends func()) { return func() {} }
