// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/client"

	"github.com/deed-run/deed/faultkit"
)

// role says what a process of this program is: the fixture provider, a worker,
// or the tests.
const role = "DEED_TEST_TEMPORAL_ROLE"

// address and namespace are those of the Temporal server.
var address, namespace string

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "fixture":
		os.Exit(faultkit.FixtureMain(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	case "worker":
		if err := work(); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		return
	}
	code, err := withServer(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

// withServer builds and starts the Temporal server for run.
func withServer(run func() int) (int, error) {
	folder, err := os.MkdirTemp("", "temporal-server")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	program := filepath.Join(folder, "server")
	build := exec.Command("go", "build", "-C", "server", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the Temporal server: %w: %s", err, out)
	}
	server := exec.Command(program)
	stop, err := server.StdinPipe()
	if err != nil {
		return 0, err
	}
	said, err := server.StdoutPipe()
	if err != nil {
		return 0, err
	}
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = stop.Close()
		_ = server.Wait()
	}()
	if _, err := fmt.Fscanln(said, &address, &namespace); err != nil {
		return 0, fmt.Errorf("the Temporal server did not say where it listens: %w", err)
	}
	return run(), nil
}

func dial(t *testing.T) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: address, Namespace: namespace, Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// quiet keeps Temporal's log out of the tests' output.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
