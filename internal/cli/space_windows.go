// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import "golang.org/x/sys/windows"

// freeBytes is what this user may still write in the folder.
func freeBytes(folder string) (int64, error) {
	name, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return 0, err
	}
	var free, total, all uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, &total, &all); err != nil {
		return 0, err
	}
	return int64(free), nil
}
