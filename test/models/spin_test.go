// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package models_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/deed-run/deed/test/installed"
)

// property is one `ltl` claim of a model.
type property struct {
	name string
	// fair restricts the search to weakly fair schedules, which liveness needs.
	fair bool
}

// verifier is a model compiled with one set of rules.
type verifier struct{ program string }

// verdict is what an exhaustive search printed.
type verdict struct {
	errors int
	states int
	output string
}

var (
	errorCount = regexp.MustCompile(`errors: (\d+)`)
	stateCount = regexp.MustCompile(`(?m)^\s*(\d+) states, stored`)
)

// compile generates and compiles the search of one model with the given
// definitions ("NAME" or "NAME=VALUE").
func compile(t *testing.T, model string, definitions []string) verifier {
	t.Helper()
	source := filepath.Join(installed.ModuleRoot(t), "docs", "model", model)
	folder := t.TempDir()
	var generate []string
	for _, definition := range definitions {
		generate = append(generate, "-D"+definition)
	}
	run(t, folder, installed.Program(t, "spin"), append(generate, "-a", source)...)
	run(t, folder, installed.Program(t, "gcc"), "-O2", "-DVECTORSZ=4096", "-DNFAIR=4", "-w", "-o", "pan", "pan.c")
	return verifier{program: filepath.Join(folder, "pan")}
}

func (v verifier) mustHold(t *testing.T, p property, leastStates int) {
	t.Helper()
	found := v.search(t, p)
	if found.errors != 0 {
		t.Fatalf("%s is violated:\n%s", p.name, found.output)
	}
	if found.states < leastStates {
		t.Fatalf("%s held over %d states, fewer than %d: the search is vacuous or the model has shrunk\n%s",
			p.name, found.states, leastStates, found.output)
	}
	for _, sign := range []string{"max search depth too small", "out of memory", "Search not completed"} {
		if strings.Contains(found.output, sign) {
			t.Fatalf("%s was not searched exhaustively:\n%s", p.name, found.output)
		}
	}
}

func (v verifier) mustFail(t *testing.T, p property) {
	t.Helper()
	if found := v.search(t, p); found.errors == 0 {
		t.Fatalf("%s holds without a rule that it was said to need:\n%s", p.name, found.output)
	}
}

func (v verifier) search(t *testing.T, p property) verdict {
	t.Helper()
	arguments := []string{"-a", "-m200000", "-N", p.name}
	if p.fair {
		arguments = append(arguments, "-f")
	}
	output := run(t, filepath.Dir(v.program), v.program, arguments...)
	if !strings.Contains(output, p.name) {
		t.Fatalf("the search does not name the property %s:\n%s", p.name, output)
	}
	return verdict{errors: number(t, errorCount, output), states: number(t, stateCount, output), output: output}
}

func number(t *testing.T, pattern *regexp.Regexp, output string) int {
	t.Helper()
	match := pattern.FindStringSubmatch(output)
	if match == nil {
		t.Fatalf("no %q in the search's output:\n%s", pattern, output)
	}
	value, err := strconv.Atoi(match[1])
	if err != nil {
		t.Fatalf("read %q: %v", match[0], err)
	}
	return value
}

func run(t *testing.T, folder, program string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Dir = folder
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatal(fmt.Errorf("%s %s: %w\n%s", program, strings.Join(arguments, " "), err, output))
	}
	return string(output)
}
