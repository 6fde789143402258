// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package kills_test kills the shipped gateway with SIGKILL, at random moments,
// at every sync of an operation and at named points, and counts at the provider
// what really happened.
package kills_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/test/installed"
)

// program is the gateway, crashing is the same with its named crash points.
var program, crashing string

func TestMain(m *testing.M) {
	os.Exit(installed.WithDeed(func(path string) int {
		program = path
		crashing = filepath.Join(filepath.Dir(path), "deed-faultpoints")
		build := exec.Command("go", "build", "-tags", "faultpoints", "-o", crashing, "github.com/deed-run/deed/cmd/deed")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return 1
		}
		return m.Run()
	}))
}

// kills is how many random moments are tried: DEED_KILLS, or 100.
func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv("DEED_KILLS")
	if text == "" {
		return 100
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("DEED_KILLS=%q is no number of kills", text)
	}
	return n
}

func options(binary string, door faultkit.Door) faultkit.Options {
	return faultkit.Options{Binary: binary, Fixture: []string{program, "fixture"}, Door: door}
}

func check(t *testing.T, report faultkit.KillReport, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	if !report.Passed() || report.Duplicates > 0 || report.LostReceipts > 0 {
		t.Errorf("%s: %q", report, report.Problems)
	}
}

func TestRandomKills(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	report, err := faultkit.RandomKills(ctx, faultkit.KillOptions{
		Options: options(program, faultkit.Stdio), Kills: kills(t), Seed: uint64(time.Now().UnixNano()),
	})
	check(t, report, err)
}

func TestAKillAtEverySync(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	report, err := faultkit.SyncKills(ctx, options(program, faultkit.Stdio))
	check(t, report, err)
}

func TestCrashPointsAndScenariosOnBothDoors(t *testing.T) {
	for _, door := range []faultkit.Door{faultkit.Stdio, faultkit.HTTP} {
		t.Run(string(door), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
			defer cancel()
			o := options(crashing, door)
			o.CrashPoints = true
			report, err := faultkit.Run(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range report.Rows {
				t.Logf("%+v", row)
			}
			if !report.Passed() {
				t.Error("a promise was broken")
			}
		})
	}
}
