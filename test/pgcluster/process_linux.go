// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package pgcluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// owner is the user that runs the server: PostgreSQL refuses to be root.
func owner() (uid, gid int, other bool) {
	if os.Getuid() != 0 {
		return 0, 0, false
	}
	postgres, err := user.Lookup("postgres")
	if err != nil {
		return 0, 0, false
	}
	uid, _ = strconv.Atoi(postgres.Uid)
	gid, _ = strconv.Atoi(postgres.Gid)
	return uid, gid, true
}

func asOwner(cmd *exec.Cmd) {
	if uid, gid, other := owner(); other {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
}

// ownSession keeps a command from signals that are sent to all of this one's
// group.
func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// serves reports whether a process runs and is the server of a folder, which is
// an argument of its own.
func serves(pid int, folder string) bool {
	words, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err == nil && slices.Contains(strings.Split(string(words), "\x00"), folder) && runs(pid)
}

// killTree kills a process and its children, the process first so that it
// starts no others, and returns when they are gone.
func killTree(parent int) error {
	family := append([]int{parent}, children(parent)...)
	for _, pid := range family {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("killing process %d: %w", pid, err)
		}
	}
	for until := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		gone := true
		for _, pid := range family {
			gone = gone && !runs(pid)
		}
		if gone {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("the processes %v outlive SIGKILL", family)
		}
	}
}

// children are the processes that a process has started.
func children(parent int) []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var list []int
	for _, path := range stats {
		if _, of := stat(path); of == parent {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err == nil {
				list = append(list, pid)
			}
		}
	}
	return list
}

// runs reports whether a process is there and no zombie.
func runs(pid int) bool {
	state, _ := stat(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return state != "" && state != "Z"
}

// stat reads the state of a process and who started it; see proc(5).
func stat(path string) (state string, parent int) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}
