// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Suite is one outside suite with the arguments that select its scenarios.
type Suite struct {
	// Name says which suite this is, for people.
	Name string
	// Script is the suite's JavaScript program.
	Script string
	// Arguments select scenarios, for example --suite all.
	Arguments []string
}

// Run runs the suite under node against the MCP endpoint at url and returns
// every verdict. A check that fails is a verdict and no error. The results stay
// in a folder that Run makes below parent.
func (s Suite) Run(ctx context.Context, node, url, parent string) (Results, error) {
	folder, err := os.MkdirTemp(parent, "suite-")
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", s.Name, err)
	}
	arguments := append([]string{s.Script, "server", "--url", url, "-o", folder}, s.Arguments...)
	command := exec.CommandContext(ctx, node, arguments...)
	command.Dir = parent
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	var exit *exec.ExitError
	// The suites exit with 1 when a check failed, which the results say better.
	if err := command.Run(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return nil, fmt.Errorf("run %s against %s: %w\n%s", s.Name, url, err, output.Bytes())
	}
	results, err := ReadResults(folder)
	if err != nil {
		return nil, fmt.Errorf("%s against %s: %w", s.Name, url, err)
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("%s gave no verdict on %s:\n%s", s.Name, url, output.Bytes())
	}
	return results, nil
}
