// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/deed-run/deed/faultkit/provider"
)

// Fixture is a provider running as a process of its own.
type Fixture struct {
	*provider.Client
	provider.Addresses
	command []string
	process *exec.Cmd
	input   io.Closer
	output  io.Reader
}

// StartFixture starts the provider with its ledgers in dir. The command runs
// FixtureMain, for example {"deed", "fixture"}; args are further flags of "serve".
// The process ends with this one, however this one ends.
func StartFixture(ctx context.Context, command []string, dir string, args ...string) (*Fixture, error) {
	if len(command) == 0 {
		return nil, fmt.Errorf("start fixture: no command: nothing was started; name a program that runs FixtureMain")
	}
	all := append(append([]string{}, command[1:]...), "serve", "--dir", dir, "--until-stdin-closes")
	cmd := exec.Command(command[0], append(all, args...)...)
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start fixture: %w", err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start fixture: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start fixture: %w", err)
	}
	f := &Fixture{command: command, process: cmd, input: input, output: output}
	stop := context.AfterFunc(ctx, func() { _ = input.Close() })
	defer stop()
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &f.Addresses)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("start fixture: it did not say where it listens: %w", err)
	}
	f.Client = provider.NewClient(f.Control, nil)
	return f, nil
}

// Upstream is the command of a stdio MCP server in front of this provider.
func (f *Fixture) Upstream() []string {
	return append(append([]string{}, f.command...), "stdio", "--server", f.Control)
}

// Close ends the provider and waits for it.
func (f *Fixture) Close() error {
	_ = f.input.Close()
	_, _ = io.Copy(io.Discard, f.output)
	if err := f.process.Wait(); err != nil {
		return fmt.Errorf("stop fixture: %w", err)
	}
	return nil
}
