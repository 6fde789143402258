// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

//go:build !unix

package mcpgate

import "os/exec"

func ownGroup(*exec.Cmd) {}

func terminateGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
