// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package audit

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock holds a file until it is closed or its process ends; false when another
// has it.
func lock(file *os.File) (bool, error) {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return false, nil
	}
	return err == nil, err
}
