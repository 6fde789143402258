// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"
	"runtime/debug"
	"strings"
)

// Process is what a command sees of its surroundings.
type Process struct {
	// Args are the arguments without the program's name.
	Args []string
	// Env is the environment as NAME=value.
	Env    []string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Build  Build
}

// Build names the binary. Empty fields are filled from what the toolchain
// recorded.
type Build struct {
	Version  string
	Revision string
}

// Run runs one command and returns its exit code. When ctx ends, long-running
// commands stop in an orderly way.
func Run(ctx context.Context, p Process) int {
	a := &app{Process: p}
	root := a.root()
	root.SetArgs(p.Args)
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	return a.complain(command, err)
}

// app is one run of the program.
type app struct {
	Process
	json bool
}

// getenv reads a variable; as in os/exec, the last of several counts.
func (a *app) getenv(name string) string {
	value := ""
	for _, entry := range a.Env {
		if rest, ok := strings.CutPrefix(entry, name+"="); ok {
			value = rest
		}
	}
	return value
}

// build completes what the linker set.
func (a *app) build() Build {
	b := a.Build
	info, ok := debug.ReadBuildInfo()
	if b.Version == "" && ok && info.Main.Version != "(devel)" {
		b.Version = info.Main.Version
	}
	if b.Version == "" {
		b.Version = "devel"
	}
	if b.Revision == "" && ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Revision = s.Value
			}
		}
	}
	return b
}
