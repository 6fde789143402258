// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/deed-run/deed/internal/bench"
)

func TestTheRelayCopiesLinesBothWays(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in := strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"ping"}` + "\n")
	var out bytes.Buffer
	err = bench.Relay(context.Background(), []string{program, "fixture", "stdio", "--dir", t.TempDir()}, in, &out, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, `"id":7`) || !strings.HasSuffix(got, "\n") {
		t.Errorf("answer %q", got)
	}
}

func TestTheRelayReportsACommandThatCannotRun(t *testing.T) {
	for name, command := range map[string][]string{"none": nil, "missing": {"/nonexistent/program"}} {
		if err := bench.Relay(t.Context(), command, strings.NewReader(""), &bytes.Buffer{}, os.Stderr); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
