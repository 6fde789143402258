// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock holds a file until it is closed or its process ends; false when another
// has it.
func lock(file *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	if err == windows.ERROR_LOCK_VIOLATION {
		return false, nil
	}
	return err == nil, err
}
