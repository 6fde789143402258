// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/deed-run/deed/test/installed"
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
	os.Exit(installed.WithFixture(func(program string) int {
		fixture = program
		code := m.Run()
		if err := goleak.Find(); code == 0 && err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		return code
	}))
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
