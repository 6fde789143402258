// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed/internal/bench"
)

// These name peers where no flag does.
const (
	proxyVariable   = "DEED_BENCH_MCP_PROXY"
	dbosVariable    = "DEED_BENCH_DBOS"
	restateVariable = "RESTATE_INGRESS"
)

func (a *app) benchCommand() *cobra.Command {
	var o bench.Options
	var proxy, dbos string
	var onPostgres bool
	var p bench.PostgresOptions
	c := &cobra.Command{
		Use: "bench", Short: "Measure deed on this machine, beside the floor of its disk and beside peers", Args: cobra.NoArgs,
		Long: `Measures guarded calls, replays, a large ledger and the gateway over MCP, each in
turns with what it is compared to, and prints medians. The floor is a bare loop
that writes the same rows with the same driver. Ledgers are written to a new
folder on a disk and removed at the end; it takes a few minutes.

With --postgres all of that is about the ledger in a PostgreSQL 15 that bench
starts itself: guarded calls and replays beside two plain statements, the HTTP
API on one and several gateways, and, where they are named, DBOS Transact and
Restate.

Exit code 1 means that a target was missed. Only on a quiet machine does that
say something about deed.`,
		Example: "  deed bench\n  deed bench --operations 1000000\n  deed bench --part guarded --rounds 9\n  deed bench --postgres --operations 1000000",
		RunE: action(func(ctx context.Context, _ []string) error {
			if onPostgres {
				p.Dir, p.Only, p.Rounds, p.Rows = o.Dir, o.Only, o.Rounds, o.Operations
				p.DBOS = strings.Fields(cmp.Or(dbos, a.getenv(dbosVariable)))
				p.Restate = cmp.Or(p.Restate, a.getenv(restateVariable))
				return a.benchPostgres(ctx, p)
			}
			o.MCPProxy = strings.Fields(proxy)
			if len(o.MCPProxy) == 0 {
				o.MCPProxy = strings.Fields(a.getenv(proxyVariable))
			}
			return a.bench(ctx, o)
		}),
	}
	c.Flags().StringSliceVar(&o.Only, "part", nil, "measure only this: "+strings.Join(bench.Parts(), ", ")+"; with --postgres: "+strings.Join(bench.PostgresParts(), ", "))
	c.Flags().IntVar(&o.Operations, "operations", 0, "`size` of the large ledger (default 50000)")
	c.Flags().IntVar(&o.Rounds, "rounds", 0, "`times` that each comparison is repeated (default 5)")
	c.Flags().StringVar(&o.Dir, "dir", "", "`folder` on a disk for ledgers")
	c.Flags().StringVar(&proxy, "mcp-proxy", "", "`command` of npm's mcp-proxy (default: $"+proxyVariable+")")
	c.Flags().StringVar(&o.Profile, "profile", "", "`folder` for profiles of the loads")
	c.Flags().BoolVar(&onPostgres, "postgres", false, "measure the ledger in PostgreSQL (--operations: none by default)")
	c.Flags().IntVar(&p.Calls, "calls", 0, "with --postgres: `calls` per round with 64 callers (default 6400)")
	c.Flags().StringVar(&dbos, "dbos", "", "with --postgres: `command` of test/peers/dbos (default: $"+dbosVariable+")")
	c.Flags().StringVar(&p.Restate, "restate", "", "with --postgres: `URL` of a Restate ingress with the service of test/peers/restate (default: $"+restateVariable+")")
	_ = c.MarkFlagDirname("dir")
	_ = c.MarkFlagDirname("profile")
	c.AddCommand(a.benchRelayCommand())
	return c
}

func (a *app) bench(ctx context.Context, o bench.Options) error {
	var err error
	if o.Program, err = itself(); err != nil {
		return err
	}
	o.Progress = a.Stderr
	report, err := bench.Run(ctx, o)
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(report)
	} else {
		m := report.Machine
		lines := []string{m.System + ", " + m.Go + ", ledgers in " + m.Dir + ", load average at the start: " + m.Load, ""}
		lines = append(append(lines, table(report.Rows())...), "")
		err = a.print(append(lines, a.paint(table(report.Verdicts()), "missed")...)...)
	}
	if err == nil && report.Missed() > 0 {
		return exitWith(exitFailed)
	}
	return err
}

func (a *app) benchPostgres(ctx context.Context, o bench.PostgresOptions) error {
	var err error
	if o.Program, err = itself(); err != nil {
		return err
	}
	o.Progress = a.Stderr
	report, err := bench.RunPostgres(ctx, o)
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(report)
	} else {
		m := report.Machine
		lines := []string{m.System + ", " + m.Go + ", PostgreSQL in " + m.Dir + ", load average at the start: " + m.Load, ""}
		lines = append(append(lines, table(report.Rows())...), "")
		err = a.print(append(lines, a.paint(table(report.Verdicts()), "missed")...)...)
	}
	if err == nil && report.Missed() > 0 {
		return exitWith(exitFailed)
	}
	return err
}

// benchRelayCommand is the bare proxy that bench compares the gateway to.
func (a *app) benchRelayCommand() *cobra.Command {
	return &cobra.Command{
		Use: "relay -- COMMAND...", Short: "Copy lines between standard streams and a command", Hidden: true, Args: cobra.MinimumNArgs(1),
		RunE: action(func(ctx context.Context, args []string) error {
			return bench.Relay(ctx, args, a.Stdin, a.Stdout, a.Stderr)
		}),
	}
}
