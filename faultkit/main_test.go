// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// fixture is the path of the built fixture command.
var fixture string

func TestMain(m *testing.M) {
	if os.Getenv("FAULTKIT_TOY") != "" && len(os.Args) > 1 && os.Args[1] == "mcp" {
		if err := runToy(os.Args[1:], os.Getenv("FAULTKIT_TOY")); err != nil {
			fmt.Fprintln(os.Stderr, "toy:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "faultkit")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	fixture = filepath.Join(dir, "fixture")
	if out, err := exec.Command("go", "build", "-o", fixture, "./cmd/fixture").CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build fixture: %w: %s", err, out)
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			return 1, err
		}
	}
	return code, nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// toyEnv makes this test binary play the toy gateway with a planted bug. A race
// build would otherwise wait a second at every exit.
func toyEnv(bug string) []string {
	return []string{"FAULTKIT_TOY=" + bug, "GORACE=atexit_sleep_ms=0"}
}
