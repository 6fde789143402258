// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
	"github.com/deed-run/deed/test/installed"
)

// fixture is the path of the built fixture command.
var fixture string

func TestMain(m *testing.M) {
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

// running is a fixture process.
type running struct {
	*provider.Client
	provider.Addresses
	dir string
}

// serve starts the fixture and stops it at the end of the test by closing its
// standard input.
func serve(t *testing.T, args ...string) running {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(fixture, append([]string{"serve", "--dir", dir, "--until-stdin-closes"}, args...)...)
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	must(t, err)
	output, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = input.Close()
		_, _ = io.Copy(io.Discard, output)
		if err := cmd.Wait(); err != nil {
			t.Errorf("fixture: %v", err)
		}
	})
	r := running{dir: dir}
	line, err := bufio.NewReader(output).ReadBytes('\n')
	must(t, err)
	must(t, json.Unmarshal(line, &r.Addresses))
	r.Client = provider.NewClient(r.Control, nil)
	return r
}

// child starts a stdio child of the fixture.
func (r running) child(t *testing.T, version string) *caller.Stdio {
	t.Helper()
	s, err := caller.StartStdio(t.Context(), caller.Command{
		Path: fixture, Args: []string{"stdio", "--server", r.Control}, Version: version,
	})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// counts returns requests received (D) and effects (E) for an operation.
func (r running) counts(t *testing.T, op string) (received, effects int) {
	t.Helper()
	requests, err := r.Requests(t.Context(), provider.Selection{Op: op})
	must(t, err)
	done, err := r.Effects(t.Context(), provider.Selection{Op: op})
	must(t, err)
	return len(requests), len(done)
}

func charge(order string) caller.Call {
	return caller.Call{Tool: "pay.charge", Arguments: json.RawMessage(`{"order_id":"` + order + `","amount":100}`)}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patience bounds a wait that would otherwise hang the whole run; no assertion
// depends on its length.
func patience(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
