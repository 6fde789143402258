// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package realservers_test drives published MCP servers with published MCP
// clients, and counts effects in the files that the servers write. The direct
// tests show that the counting has teeth: without deed a repeated call is
// applied again.
package realservers_test

import (
	"fmt"
	"os"
	"testing"
)

// relayCommand is the first argument that makes the test binary a [relay]
// instead of running tests.
const relayCommand = "relay"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == relayCommand {
		if err := runRelay(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "relay:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(runTests(m))
}
