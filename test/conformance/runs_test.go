// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"os/exec"
	"testing"

	"github.com/deed-run/deed/test/conformance"
	"github.com/deed-run/deed/test/installed"
	"github.com/deed-run/deed/test/process"
)

// run is one suite against one way of running the conformance server.
type run struct {
	name      string
	script    string
	arguments []string
	// stateless is the 2026-07-28 transport, without sessions.
	stateless bool
	// passed and failed are what the conformance server reaches directly; the
	// failures are those of the tasks extension, which it does not have.
	passed, failed int
	// known are the differences that the gateway makes, word for word.
	known []string
}

// lostAnswer: the conformance server closes the stream of this call without an
// event id, so that its answer is lost to every client. Directly the client
// waits in vain; the gateway tells it that the outcome is unknown, which the
// suite counts as a call that failed.
const lostAnswer = "server-sse-polling/incoming-sse-event: directly not run, through the gateway FAILURE (Tool call failed)"

var runs = []run{
	{
		name:      "suite 0.1.16 with sessions",
		script:    "conformance-0-1",
		arguments: []string{"--suite", "all"},
		passed:    44,
		known:     []string{lostAnswer},
	},
	{
		name:      "suite 0.2.0-alpha.12 with sessions, 2025-11-25",
		script:    "conformance-0-2",
		arguments: []string{"--suite", "all", "--spec-version", "2025-11-25"},
		passed:    82,
		known:     []string{lostAnswer},
	},
	{
		name:      "suite 0.2.0-alpha.12 without sessions, 2026-07-28",
		script:    "conformance-0-2",
		arguments: []string{"--suite", "all", "--spec-version", "2026-07-28"},
		stateless: true,
		passed:    153,
	},
	{
		name:      "suite 0.2.0-alpha.12 without sessions, what 2026-07-28 requires",
		script:    "conformance-0-2",
		arguments: []string{"--requirements", "2026-07-28"},
		stateless: true,
		passed:    165,
		failed:    30,
	},
}

func (r run) against(t *testing.T, url string) conformance.Results {
	t.Helper()
	suite := conformance.Suite{
		Name:      r.name,
		Script:    installed.Script(t, r.script, "dist", "index.js"),
		Arguments: r.arguments,
	}
	results, err := suite.Run(t.Context(), installed.Node(t), url, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// startConformanceServer starts the Go SDK's conformance server and returns its endpoint.
func startConformanceServer(t *testing.T, stateless bool) string {
	t.Helper()
	address := process.FreeAddress(t)
	arguments := []string{"-http", address}
	if !stateless {
		arguments = append(arguments, "-stateless=false")
	}
	server := process.Start(t, exec.Command(installed.EverythingServer(t), arguments...))
	server.WaitListening(t, address)
	return "http://" + address + "/"
}
