// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package cli

import "golang.org/x/sys/unix"

// freeBytes is what this user may still write in the folder.
func freeBytes(folder string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // both are of other types elsewhere
}
