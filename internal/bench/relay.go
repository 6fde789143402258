// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// Relay runs a command and copies lines between it and in and out: the least
// that any gateway on standard streams has to do. It returns when the command
// has ended; the end of in is the end of the command's input.
func Relay(ctx context.Context, command []string, in io.Reader, out, problems io.Writer) error {
	if len(command) == 0 {
		return errors.New("relay: no command; nothing was started")
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = problems
	input, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	// Nothing can interrupt a read of in: this ends with in, or with the process.
	go func() {
		_ = copyLines(input, in)
		_ = input.Close()
	}()
	copied := copyLines(out, output)
	if err := errors.Join(copied, cmd.Wait()); err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	return nil
}

// copyLines passes whole lines on, one write each.
func copyLines(to io.Writer, from io.Reader) error {
	lines := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if _, err := to.Write(line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
