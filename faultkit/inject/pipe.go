// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package inject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// Pipe stands between a caller and a command that speaks MCP over its standard
// streams.
type Pipe struct {
	// Command is the program and its arguments.
	Command []string
	Env     []string
	Dir     string
	Judge   Judge
	Stderr  io.Writer
}

// Run starts the command and passes lines both ways until the command exits. When
// in ends, the command's input is closed and it is left to finish; when a mishap
// ends the connection or ctx is done, the command is killed and Run returns
// ErrEnded or the context's error. Reading from in may outlast Run, so close it.
func (p Pipe) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	if len(p.Command) == 0 {
		return errors.New("pipe: no command: nothing was started")
	}
	running, kill := context.WithCancelCause(ctx)
	defer kill(nil)
	requests, answers := Streams(ctx, p.Judge, in, out, func() { kill(ErrEnded) })
	cmd := exec.CommandContext(running, p.Command[0], p.Command[1:]...)
	cmd.Env, cmd.Dir, cmd.Stderr = p.Env, p.Dir, p.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("pipe: %w", err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("pipe: start %s: %w", p.Command[0], err)
	}
	go func() {
		_, err := io.Copy(input, requests)
		if err != nil && running.Err() == nil {
			kill(fmt.Errorf("pipe: pass a request on: %w", err))
		}
		_ = input.Close()
	}()
	_, copied := io.Copy(answers, output)
	if copied != nil && running.Err() == nil {
		// The caller is gone. The command may be at work: it is told by the end of
		// its input, not killed.
		_, _ = io.Copy(io.Discard, output)
	}
	waited := cmd.Wait()
	if cause := context.Cause(running); cause != nil {
		return cause
	}
	if copied != nil {
		return fmt.Errorf("pipe: pass an answer back: %w", copied)
	}
	if waited != nil {
		return fmt.Errorf("pipe: %s: %w", p.Command[0], waited)
	}
	return nil
}
