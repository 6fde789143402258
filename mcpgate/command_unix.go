// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package mcpgate

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the child into a process group of its own, so that npx and the like end together with what they started.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminateGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
