// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package pgtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc on Linux.
const tick = 10 * time.Millisecond

// ProcessTime is the processor time that the server has used: unlike a rate
// it means something on a busy machine.
func (c *Cluster) ProcessTime() (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join(c.Folder, "data", "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	postmaster, _, _ := strings.Cut(string(text), "\n")
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	var total time.Duration
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 15 {
			return 0, fmt.Errorf("%s has %d fields", path, len(fields))
		}
		times := fields[11:13]
		switch pid := filepath.Base(filepath.Dir(path)); {
		case pid == postmaster:
			times = fields[11:15] // with its children that have ended
		case fields[1] != postmaster:
			continue
		}
		for _, field := range times {
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return 0, err
			}
			total += time.Duration(n) * tick
		}
	}
	return total, nil
}
