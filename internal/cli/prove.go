// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/policy"
)

// proveOptions are the flags of deed prove.
type proveOptions struct {
	config, tool, args, other, door string
	only                            []string
	count                           string
	verbose                         bool
	kills                           int
	seed                            uint64
	syncs, crashPoints              bool
}

func (a *app) proveCommand() *cobra.Command {
	var o proveOptions
	c := &cobra.Command{
		Use: "prove [--config F --tool T --args A]", Short: "Lose answers, crash, repeat: count what really happened", Args: cobra.NoArgs,
		Long: `Plays scenarios with real processes: a provider that loses answers on command, this
binary as the gateway, kill -9, duplicates, changed arguments. The provider counts
what it received, apart from deed.

With --config, --tool and --args it does the same with a tool of yours, through a
pipe or proxy that cuts answers. The tool is really called, once or twice per
check: point it at a test account. {{n}} in the arguments becomes another word in
every check. Exit code 6 means that an effect happened twice, 4 that the rules let
no such call through, so that nothing was proved.

--kills kills the gateway at random moments while calls are under way, --syncs at
every single sync of the ledger (Linux, with strace). --crash-points adds named
points, in a binary that was built with -tags faultpoints.`,
		Example: `  deed prove
  deed prove --config deed.yaml --tool tickets/create_ticket --args '{"title": "test {{n}}"}'`,
		RunE: action(func(ctx context.Context, _ []string) error {
			binary, err := itself()
			if err != nil {
				return err
			}
			if o.kills > 0 || o.syncs {
				return a.proveKills(ctx, o, binary)
			}
			return a.playProof(ctx, o, binary)
		}),
	}
	c.Flags().StringVar(&o.config, "config", "", "configuration `file` of your own tool")
	c.Flags().StringVar(&o.tool, "tool", "", "your tool as `upstream/tool`")
	c.Flags().StringVar(&o.args, "args", "", "its arguments: JSON, a file, or -")
	c.Flags().StringVar(&o.other, "other-args", "", "arguments of another effect (default: made from --args)")
	c.Flags().StringVar(&o.door, "door", "stdio", "how deed is reached: stdio or http (built-in suite)")
	c.Flags().StringSliceVar(&o.only, "only", nil, "only the scenarios of these names")
	c.Flags().StringVar(&o.count, "count", "", "shell `command` that prints how many effects of the tool there are")
	c.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "show what the gateway says")
	c.Flags().IntVar(&o.kills, "kills", 0, "kill the gateway at this many random moments")
	c.Flags().Uint64Var(&o.seed, "seed", 0, "what the moments of --kills come from (default: the time)")
	c.Flags().BoolVar(&o.syncs, "syncs", false, "kill the gateway at every sync in turn")
	c.Flags().BoolVar(&o.crashPoints, "crash-points", false, "also crash at named points")
	c.MarkFlagsMutuallyExclusive("kills", "syncs", "config", "crash-points")
	c.MarkFlagsRequiredTogether("config", "tool", "args")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
	return c
}

func (a *app) playProof(ctx context.Context, o proveOptions, binary string) error {
	var said io.Writer
	if o.verbose {
		said = a.Stderr
	}
	watch := func(row faultkit.Row) { _, _ = fmt.Fprintf(a.Stderr, "%-9s %s\n", row.Verdict, row.Scenario) }
	if a.json {
		watch = nil
	}
	fixture := []string{binary, "fixture"}
	if o.config == "" {
		door := faultkit.Door(o.door)
		if door != faultkit.Stdio && door != faultkit.HTTP {
			return fail(exitUsage, "--door: there is no door %q; nothing was started; use stdio or http", o.door)
		}
		if o.crashPoints && !daemon.HasCrashPoints {
			return fail(exitUsage, "--crash-points: this binary has none; nothing was started; build it with -tags faultpoints")
		}
		report, err := faultkit.Run(ctx, faultkit.Options{
			Binary: binary, Fixture: fixture, Door: door, Only: o.only, Stderr: said, Observe: watch, CrashPoints: o.crashPoints,
		})
		if err != nil {
			return a.notProved(o, nil, report, err)
		}
		return a.judge(report)
	}
	if o.door != "stdio" {
		return fail(exitUsage, "--door goes with the built-in suite; nothing was started; your own tool is proved over stdio")
	}
	config, err := a.rules(o.config, policy.BareOptions{})
	if err != nil {
		return err
	}
	arguments, err := a.readArguments(o.args)
	if err != nil {
		return err
	}
	if err := a.provable(ctx, config, o, arguments); err != nil {
		return err
	}
	p := faultkit.ProveOptions{
		Binary: binary, Fixture: fixture, Config: o.config, Tool: o.tool, Args: arguments, CountCommand: shell(o.count),
		Only: o.only, Stderr: said, Observe: watch,
	}
	if o.other != "" {
		if p.OtherArgs, err = a.readArguments(o.other); err != nil {
			return err
		}
	}
	report, err := faultkit.ProveTool(ctx, p)
	if err != nil {
		return a.notProved(o, arguments, report, err)
	}
	return a.judge(report)
}

// shell wraps a command line for the shell of the system.
func shell(line string) []string {
	switch {
	case line == "":
		return nil
	case runtime.GOOS == "windows":
		return []string{"cmd", "/C", line}
	}
	return []string{"sh", "-c", line}
}

// judge prints the report and turns it into the exit code.
func (a *app) judge(report faultkit.Report) error {
	var err error
	if a.json {
		err = a.printJSON(map[string]any{"passed": report.Passed(), "duplicated": report.Duplicated(), "door": report.Door, "rows": report.Rows})
	} else {
		err = report.WriteTable(a.Stdout)
	}
	switch {
	case err != nil:
		return err
	case report.Duplicated():
		return exitWith(exitDuplicate)
	case !report.Passed():
		return exitWith(exitFailed)
	}
	return nil
}
