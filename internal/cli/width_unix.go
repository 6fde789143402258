// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminalColumns is the width of a terminal; an error says that the file is none.
func terminalColumns(f *os.File) (int, error) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, err
	}
	return int(size.Col), nil
}
