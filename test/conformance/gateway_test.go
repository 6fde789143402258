// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/test/conformance"
	"github.com/deed-run/deed/test/installed"
	"github.com/deed-run/deed/test/process"
)

// deedProgram is the gateway under test, which TestMain builds.
var deedProgram string

// numbers has a line for each suite, which TestMain prints also when all passes.
var numbers []string

func TestMain(m *testing.M) {
	os.Exit(installed.WithDeed(func(program string) int {
		deedProgram = program
		defer func() {
			for _, line := range numbers {
				fmt.Println(line)
			}
		}()
		return m.Run()
	}))
}

// TestThroughTheGatewayEveryVerdictIsTheSame runs each suite against a fresh
// conformance server, and against another fresh one behind a fresh gateway. The
// numbers of the direct run keep the comparison from being empty: they are what
// there is to lose on the way.
func TestThroughTheGatewayEveryVerdictIsTheSame(t *testing.T) {
	for _, run := range runs {
		t.Run(run.name, func(t *testing.T) {
			direct := run.against(t, startConformanceServer(t, run.stateless))
			passed, failed := direct.Count(conformance.Success), direct.Count(conformance.Failure)
			if passed != run.passed || failed != run.failed {
				t.Errorf("directly %d passed, %d failed; want %d and %d; failures: %q",
					passed, failed, run.passed, run.failed, direct.List(conformance.Failure))
			}
			through := run.against(t, startGateway(t, startConformanceServer(t, run.stateless)))
			differences := conformance.Compare(direct, through)
			if diff := cmp.Diff(run.known, differences); diff != "" {
				t.Errorf("differences (-known +found):\n%s", diff)
			}
			numbers = append(numbers, fmt.Sprintf("%s: directly %d passed, %d failed; through the gateway %d passed, %d failed; %d verdicts differ", run.name,
				passed, failed, through.Count(conformance.Success), through.Count(conformance.Failure), len(differences)))
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
