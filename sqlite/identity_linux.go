// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// unchanged reports whether the file of that name is the one that was opened. It
// asks for the number of the file alone: whoever asks for its times makes Linux
// (6.13 and later) write a new one down at the next write, and each commit writes.
func unchanged(name string, opened os.FileInfo) bool {
	was, ok := opened.Sys().(*syscall.Stat_t)
	var now unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, name, 0, unix.STATX_INO, &now)
	if !ok || err == unix.ENOSYS || err == unix.EPERM {
		return stillThere(name, opened)
	}
	return err == nil && now.Mask&unix.STATX_INO != 0 && now.Ino == was.Ino && unix.Mkdev(now.Dev_major, now.Dev_minor) == was.Dev
}
