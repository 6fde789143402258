// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package inject_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
	"github.com/deed-run/deed/test/installed"
)

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
