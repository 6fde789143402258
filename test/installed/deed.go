// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package installed

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// BuildDeed builds cmd/deed of this module into folder and returns the
// program's path. It is meant for TestMain, once for all tests of a package.
func BuildDeed(folder string) (string, error) { return build(folder, "deed", "cmd/deed") }

// WithDeed builds deed, runs the tests with the program's path, and removes it
// again. It returns the exit code for TestMain.
func WithDeed(run func(program string) int) int { return with(BuildDeed, run) }

// WithFixture is [WithDeed] for the fixture provider of package faultkit.
func WithFixture(run func(program string) int) int {
	return with(func(folder string) (string, error) { return build(folder, "fixture", "faultkit/cmd/fixture") }, run)
}

func build(folder, name, path string) (string, error) {
	program := filepath.Join(folder, name)
	command := exec.Command("go", "build", "-o", program, "github.com/deed-run/deed/"+path)
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, output)
	}
	return program, nil
}

func with(build func(folder string) (string, error), run func(program string) int) int {
	folder, err := os.MkdirTemp("", "deed-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a folder for the program:", err)
		return 1
	}
	defer func() {
		if err := os.RemoveAll(folder); err != nil {
			fmt.Fprintln(os.Stderr, "remove the program:", err)
		}
	}()
	program, err := build(folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return run(program)
}
