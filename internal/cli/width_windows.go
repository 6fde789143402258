// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// terminalColumns is the width of a console; an error says that the file is none.
func terminalColumns(f *os.File) (int, error) {
	var info windows.ConsoleScreenBufferInfo
	if err := windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info); err != nil {
		return 0, err
	}
	return int(info.Window.Right-info.Window.Left) + 1, nil
}
