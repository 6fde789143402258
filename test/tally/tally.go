// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// event is one line of `go test -json` (see `go doc test2json`).
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// Tally counts the outcomes of tests. Its zero value has counted nothing.
type Tally struct {
	passed, skipped int
	failures        []string
	// failedTests holds the packages in which a test was seen to fail.
	failedTests map[string]bool
}

// Failed returns how many tests, and packages that failed without a failing
// test or ran none of those that were asked for, were counted.
func (t *Tally) Failed() int { return len(t.failures) }

// Read counts the events of stream and writes to out what `go test` prints
// without -json: the output of failed tests and of packages. Lines that are no
// events are written as they are.
func (t *Tally) Read(stream io.Reader, out io.Writer) error {
	if t.failedTests == nil {
		t.failedTests = map[string]bool{}
	}
	held := map[string]*strings.Builder{}
	lines := bufio.NewReader(stream)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			if writeErr := t.line(line, held, out); writeErr != nil {
				return writeErr
			}
		}
		if err == io.EOF {
			return printUnfinished(held, out)
		}
		if err != nil {
			return fmt.Errorf("read the event stream: %w", err)
		}
	}
}

func (t *Tally) line(line string, held map[string]*strings.Builder, out io.Writer) error {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		_, err := io.WriteString(out, line)
		return err
	}
	name := e.Package + "." + e.Test
	switch e.Action {
	case "output":
		if e.Test == "" && strings.Contains(e.Output, "[no tests to run]") {
			t.failures = append(t.failures, e.Package+": no test ran")
		}
		return keepOrPrint(e, name, held, out)
	case "build-output":
		_, err := io.WriteString(out, e.Output)
		return err
	case "pass", "skip":
		delete(held, name)
	case "fail":
		if text := held[name]; text != nil {
			delete(held, name)
			if _, err := io.WriteString(out, text.String()); err != nil {
				return err
			}
		}
	}
	t.count(e, name)
	return nil
}

// printUnfinished writes what tests printed that never ended, which happens
// when a test process is killed.
func printUnfinished(held map[string]*strings.Builder, out io.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(held)) {
		if _, err := fmt.Fprintf(out, "%s never ended:\n%s", name, held[name]); err != nil {
			return err
		}
	}
	return nil
}

// keepOrPrint holds a test's output back until the test has failed, and prints
// the lines that `go test` itself prints for a package.
func keepOrPrint(e event, name string, held map[string]*strings.Builder, out io.Writer) error {
	if e.Test != "" {
		if held[name] == nil {
			held[name] = &strings.Builder{}
		}
		held[name].WriteString(e.Output)
		return nil
	}
	if e.Output == "PASS\n" {
		return nil
	}
	_, err := io.WriteString(out, e.Output)
	return err
}

func (t *Tally) count(e event, name string) {
	switch {
	case e.Test != "" && e.Action == "pass":
		t.passed++
	case e.Test != "" && e.Action == "skip":
		t.skipped++
	case e.Test != "" && e.Action == "fail":
		t.failures = append(t.failures, name)
		t.failedTests[e.Package] = true
	case e.Test == "" && e.Action == "fail" && !t.failedTests[e.Package]:
		t.failures = append(t.failures, e.Package)
	}
}

// Print writes the failures and the closing line.
func (t *Tally) Print(out io.Writer) {
	for _, name := range t.failures {
		fmt.Fprintln(out, "failed:", name)
	}
	closing := fmt.Sprintf("%d passed, %d failed", t.passed, len(t.failures))
	if t.skipped > 0 {
		closing += fmt.Sprintf(", %d skipped", t.skipped)
	}
	fmt.Fprintln(out, closing)
}
