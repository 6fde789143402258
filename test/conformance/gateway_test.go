// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

//go:build gateway

package conformance_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/deed-run/deed/test/conformance"
	"github.com/deed-run/deed/test/installed"
	"github.com/deed-run/deed/test/process"
)

// deedProgram is the gateway under test, which TestMain builds.
var deedProgram string

func TestMain(m *testing.M) {
	os.Exit(installed.WithDeed(func(program string) int {
		deedProgram = program
		return m.Run()
	}))
}

func TestThroughTheGatewayEveryVerdictIsTheSame(t *testing.T) {
	for _, run := range runs {
		t.Run(run.name, func(t *testing.T) {
			server := startConformanceServer(t, run.stateless)
			direct := run.against(t, server)
			through := run.against(t, startGateway(t, server))
			for _, difference := range conformance.Compare(direct, through) {
				t.Error(difference)
			}
			t.Logf("%d passed, %d failed through the gateway", through.Count(conformance.Success), through.Count(conformance.Failure))
		})
	}
}

// startGateway serves the upstream at url through deed and returns the
// gateway's endpoint. Keys are optional because the suites send none; nothing
// else differs from the defaults.
func startGateway(t *testing.T, url string) string {
	t.Helper()
	folder := t.TempDir()
	address := process.FreeAddress(t)
	configuration := fmt.Sprintf(`ledger: sqlite:%s
listen: %s
upstreams:
  everything: {url: %q}
defaults:
  mode: enforce
  key: optional
`, filepath.Join(folder, "ledger.db"), address, url)
	file := filepath.Join(folder, "deed.yaml")
	if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	gateway := process.Start(t, exec.Command(deedProgram, "serve", "--config", file))
	gateway.WaitListening(t, address)
	return "http://" + address + "/mcp/everything"
}
