// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/deed-run/deed/test/pgcluster"
)

// binaries are the programs under test, built once. Plain is what users run;
// skewed has the shifted clock and the crash points.
type binaries struct{ plain, skewed, fixture string }

var built binaries

// cluster holds the ledgers in PostgreSQL.
var cluster *pgcluster.Cluster

// campaign asks for the full matrix of doors, agents and crash points.
func campaign() bool { return os.Getenv("DEED_CAMPAIGN") == "1" }

func TestMain(m *testing.M) {
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	flag.Parse()
	// The tests wait for processes far more than they compute.
	if err := widen(); err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "deed-scenarios")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	built = binaries{plain: filepath.Join(dir, "deed"), skewed: filepath.Join(dir, "deed-skewed"), fixture: filepath.Join(dir, "fixture")}
	for _, args := range [][]string{
		{"build", "-o", built.plain, "./cmd/deed"},
		{"build", "-tags", "clockskew faultpoints", "-o", built.skewed, "./cmd/deed"},
		{"build", "-o", built.fixture, "./faultkit/cmd/fixture"},
	} {
		build := exec.Command("go", args...)
		build.Dir = filepath.Join("..", "..")
		if out, err := build.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("go %v: %w: %s", args, err, out)
		}
	}
	if cluster, err = pgcluster.Start(pgcluster.Memory()); err != nil {
		return 1, err
	}
	code := m.Run()
	if err := cluster.Stop(); err != nil {
		return 1, err
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			return 1, err
		}
	}
	return code, nil
}

// widen lets four tests wait at once, unless the command line says otherwise.
func widen() error {
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if chosen {
		return nil
	}
	return flag.Set("test.parallel", "4")
}
