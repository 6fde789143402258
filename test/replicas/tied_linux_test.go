// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"os/exec"
	"syscall"
)

// diesWithUs has the system kill a command when this process ends in any way.
func diesWithUs(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
