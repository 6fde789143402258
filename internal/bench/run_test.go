// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/deed-run/deed/internal/bench"
	"github.com/deed-run/deed/internal/cli"
)

// TestMain makes the test binary the program whose gateway is measured.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{"fixture", "bench", "mcp", "serve"}, os.Args[1]) {
		os.Exit(cli.Run(context.Background(), cli.Process{
			Args: os.Args[1:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		}))
	}
	os.Exit(m.Run())
}

// small measures everything once, too briefly to mean anything.
func small(t *testing.T) bench.Options {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return bench.Options{
		Program: program, Rounds: 2, Single: 3, Grouped: 70, HotKeys: 10, Replays: 70, Operations: 100, Probes: 5, Requests: 3,
	}
}

func TestARunMeasuresEveryPart(t *testing.T) {
	report, err := bench.Run(t.Context(), small(t))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(report.Throughput); n != 2 {
		t.Fatalf("%d measurements of guarded calls, want 2", n)
	}
	for i, callers := range []int{1, 64} {
		m := report.Throughput[i]
		if m.Callers != callers || m.Rate <= 0 || m.FloorRate <= 0 || m.P50 <= 0 || m.P99 < m.P50 || m.FloorP50 <= 0 || m.OfFloor <= 0 || m.Over <= 0 || m.Tail < 1 {
			t.Errorf("guarded calls with %d callers: %+v", callers, m)
		}
	}
	if m := report.Replays; m == nil || m.Rate <= 0 || m.HotKeys != 10 || m.P99 < m.P50 {
		t.Errorf("replays: %+v", m)
	}
	if m := report.Size; m == nil || m.Operations != 100 || m.BytesPerOperation < 500 || m.Claim <= 0 || m.ClaimEmpty <= 0 ||
		m.Replay <= 0 || m.ReplayEmpty <= 0 || m.Old <= 0 || m.ClaimOver <= 0 || m.ReplayOver <= 0 || m.FillRate <= 0 {
		t.Errorf("size: %+v", m)
	}
	var ways []string
	for _, way := range report.Overhead {
		ways = append(ways, way.Way)
		if way.Absent == "" && (way.Read <= 0 || way.Mutate <= 0) {
			t.Errorf("%s: %+v", way.Way, way)
		}
	}
	want := []string{"direct", "line-copying proxy", "deed mcp", "deed serve (HTTP)", "npm mcp-proxy (HTTP)"}
	if !slices.Equal(ways, want) {
		t.Errorf("ways %q, want %q", ways, want)
	}
	if last := report.Overhead[len(report.Overhead)-1]; last.Absent == "" {
		t.Errorf("a proxy that was not named was measured: %+v", last)
	}
}

func TestTheReportNamesEveryTargetAndSaysWhatIsAbsent(t *testing.T) {
	report, err := bench.Run(t.Context(), small(t))
	if err != nil {
		t.Fatal(err)
	}
	want := 8
	if report.Size.Resident > 0 {
		want++
	}
	if len(report.Targets) != want {
		t.Errorf("%d targets, want %d: %+v", len(report.Targets), want, report.Targets)
	}
	rows := report.Rows()
	for _, row := range append(rows, report.Verdicts()...) {
		for _, cell := range row {
			if strings.Contains(cell, "%!") {
				t.Errorf("row %q", row)
			}
		}
	}
	if last := rows[len(rows)-1]; !strings.HasPrefix(last[len(last)-1], "not measured: ") {
		t.Errorf("the last row %q does not say that mcp-proxy is absent", last)
	}
	if _, err := json.Marshal(report); err != nil {
		t.Error(err)
	}
}

func TestOnlyTheNamedPartsRun(t *testing.T) {
	o := small(t)
	o.Program, o.Only = "", []string{bench.PartReplay}
	report, err := bench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if report.Replays == nil || report.Size != nil || report.Throughput != nil || report.Overhead != nil || len(report.Targets) != 1 {
		t.Errorf("report: %+v", report)
	}
}

func TestARunThatCannotBeMeasuredIsRefused(t *testing.T) {
	for name, change := range map[string]func(*bench.Options){
		"an unknown part":                 func(o *bench.Options) { o.Only = []string{"speed"} },
		"no program for the gateway":      func(o *bench.Options) { o.Program = "" },
		"a folder that does not exist":    func(o *bench.Options) { o.Dir = t.TempDir() + "/none" },
		"a folder in memory, not on disk": func(o *bench.Options) { o.Dir = "/dev/shm" },
	} {
		t.Run(name, func(t *testing.T) {
			o := small(t)
			change(&o)
			if _, err := os.Stat(o.Dir); o.Dir == "/dev/shm" && err != nil {
				o.Dir += "/none"
			}
			_, err := bench.Run(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), "nothing was measured") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestProfilesAreWrittenWhereTheyAreWanted(t *testing.T) {
	o := small(t)
	o.Only, o.Profile = []string{bench.PartReplay}, t.TempDir()
	if _, err := bench.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"cpu", "mutex", "block", "allocs"} {
		info, err := os.Stat(o.Profile + "/replay-64." + kind)
		if err != nil || info.Size() == 0 {
			t.Errorf("profile %s: %v", kind, err)
		}
	}
}
