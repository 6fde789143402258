// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write what the commands print into the scripts' golden files")

// binary is the path of the deed that the scripts run: some commands start
// themselves again, so it is a real one.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "deed-cli-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "deed")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	build := exec.Command("go", "build", "-ldflags", "-X main.version=v0.0.0-test -X main.revision=abc", "-o", binary, "github.com/deed-run/deed/cmd/deed")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build deed: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

func TestCommands(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *update, RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(binary)+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			return os.MkdirAll(filepath.Join(env.WorkDir, "home"), 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": exitCode, "steady": steady, "setop": setOperation},
	})
}

// exitCode runs a command and compares its exit code: code 3 deed ops show X.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if neg || err != nil {
		ts.Fatalf("usage: code N command...")
	}
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("%s exited with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// steady writes a file again with everything that differs from run to run made
// equal, for comparison with a golden file: steady stdout FILE.
func steady(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	for _, r := range []struct{ pattern, with string }{
		{regexp.QuoteMeta(ts.Getenv("WORK")), "$WORK"},
		{`op_[0-9A-Z]{26}`, "op_ID"},
		{`ev_[0-9A-Z]{26}`, "ev_ID"},
		{`sha256:[0-9a-f]{64}`, "sha256:HEX"},
		{`(just now|(in )?[0-9]+m?s( ago)?) \(20[0-9T:Z-]+\)`, "AGE (TIME)"},
		{`20[0-9]{2}-[0-9T:.-]+Z`, "TIME"},
		{`operator:[A-Za-z0-9_.\\-]+`, "operator:USER"},
		{`\b[a-z2-7]{25,26}\b`, "WORKER"},
		{` +`, " "},
	} {
		text = regexp.MustCompile(r.pattern).ReplaceAllString(text, r.with)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}

// setOperation puts the first operation id in stdout into $OP.
func setOperation(ts *testscript.TestScript, _ bool, _ []string) {
	id := regexp.MustCompile(`op_[0-9A-Z]{26}`).FindString(ts.ReadFile("stdout"))
	if id == "" {
		ts.Fatalf("no operation id in stdout")
	}
	ts.Setenv("OP", id)
}
