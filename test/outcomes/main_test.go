// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcomes_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// binaries are the programs under test, built once: deed with the crash points,
// which do nothing unless the environment names one, and the provider.
type binaries struct{ deed, fixture string }

var built binaries

var folder = flag.String("binaries", "", "build the programs under test in this folder and leave them there")

// campaign asks for every transport and every door.
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
	dir := *folder
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "deed-outcomes"); err != nil {
			return 1, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
	}
	built = binaries{deed: filepath.Join(dir, "deed"), fixture: filepath.Join(dir, "fixture")}
	for _, args := range [][]string{
		{"build", "-tags", "faultpoints", "-o", built.deed, "./cmd/deed"},
		{"build", "-o", built.fixture, "./faultkit/cmd/fixture"},
	} {
		build := exec.Command("go", args...)
		build.Dir = filepath.Join("..", "..")
		if out, err := build.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("go %v: %w: %s", args, err, out)
		}
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			return 1, err
		}
	}
	return code, nil
}

// widen lets twelve tests wait at once, unless the command line says otherwise.
func widen() error {
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if chosen {
		return nil
	}
	return flag.Set("test.parallel", "12")
}
