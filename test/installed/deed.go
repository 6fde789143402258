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
func BuildDeed(folder string) (string, error) {
	program := filepath.Join(folder, "deed")
	build := exec.Command("go", "build", "-o", program, "github.com/deed-run/deed/cmd/deed")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build deed: %w\n%s", err, output)
	}
	return program, nil
}

// WithDeed builds deed, runs the tests with the program's path, and removes it
// again. It returns the exit code for TestMain.
func WithDeed(run func(program string) int) int {
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
	program, err := BuildDeed(folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return run(program)
}
