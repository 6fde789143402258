// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package inject_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

var fixture string

func TestMain(m *testing.M) {
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "inject")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	fixture = filepath.Join(dir, "fixture")
	if out, err := exec.Command("go", "build", "-o", fixture, "../cmd/fixture").CombinedOutput(); err != nil {
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

func patience(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// effects counts the effects in a fixture directory.
func effects(t *testing.T, dir string) int {
	t.Helper()
	ledger, err := os.ReadFile(filepath.Join(dir, provider.EffectsFile))
	must(t, err)
	return strings.Count(string(ledger), "\n")
}

func charge(order string) caller.Call {
	return caller.Call{Tool: "pay.charge", Arguments: []byte(`{"order_id":"` + order + `"}`)}
}
