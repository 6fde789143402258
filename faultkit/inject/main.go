// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package inject

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
)

const usage = `pipe passes JSON-RPC lines between its standard streams and a command, and
strikes the calls that a plan names.

  pipe --control URL -- COMMAND...                       ask a controller about every call
  pipe --mishap NAME [--nth N] [--tool T] -- COMMAND...  follow one plan

Mishaps: lose-reply, cut-reply, crash, dup.
`

// Main runs a Pipe as a process: args exclude the program and command name, the
// result is the exit code (0 done, 1 failed or ended by a mishap, 2 usage).
func Main(ctx context.Context, args []string, in io.Reader, out, problems io.Writer) int {
	flags := flag.NewFlagSet("pipe", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.Usage = func() { _, _ = io.WriteString(problems, usage) }
	control := flags.String("control", "", "")
	name := flags.String("mishap", "", "")
	plan := Plan{}
	flags.IntVar(&plan.Nth, "nth", 1, "")
	flags.StringVar(&plan.Tool, "tool", "", "")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	var judge Judge = Remote{URL: *control}
	if *control == "" {
		mishap, err := ParseMishap(*name)
		if err != nil || flags.NArg() == 0 {
			_, _ = fmt.Fprintln(problems, "pipe:", err)
			_, _ = io.WriteString(problems, usage)
			return 2
		}
		plan.Mishap = mishap
		judge = NewController(plan)
	}
	pipe := Pipe{Command: flags.Args(), Env: os.Environ(), Judge: judge, Stderr: problems}
	if err := pipe.Run(ctx, in, out); err != nil {
		_, _ = fmt.Fprintln(problems, "pipe:", err)
		return 1
	}
	return 0
}
