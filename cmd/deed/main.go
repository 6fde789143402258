// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Command deed makes tool calls take effect at most once. See "deed help".
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/deed-run/deed/internal/cli"
)

// Set by the linker in releases.
var version, revision string

func main() {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !cli.OutlivesHangup(os.Args[1:]) {
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, restore := signal.NotifyContext(context.Background(), ends...)
	// The first signal asks for an orderly end, the next one ends at once.
	context.AfterFunc(ctx, restore)
	// A client that is gone must not end the process by SIGPIPE while a call is under way; writes report it instead.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(cli.Run(ctx, cli.Process{
		Args: os.Args[1:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Build: cli.Build{Version: version, Revision: revision},
	}))
}
