// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"os"
	"strings"
	"syscall"
)

// The numbers of statfs(2) for file systems in memory.
const (
	tmpfsMagic = 0x01021994
	ramfsMagic = 0x858458f6
)

func onDisk(dir string) error {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return err
	}
	if kind := uint32(stat.Type); kind == tmpfsMagic || kind == ramfsMagic {
		return errMemory
	}
	return nil
}

// residentBytes is the memory of this process that is in RAM (VmRSS of
// proc(5)), 0 when it is not told.
func residentBytes() int64 {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 3 && fields[0] == "VmRSS:" {
			return kibibytes(fields[1])
		}
	}
	return 0
}

// loadAverage is the number of processes that want the machine (proc(5), loadavg),
// "" when it is not told.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
