// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed/policy"
)

const about = `deed makes the actions of an AI agent happen at most once per approved
operation, with a receipt. It stands between a client and the tools that change
the world, keeps a ledger of what was sent, answers a repeated call from it, and
says so when nobody can know whether something happened.

  deed demo                        see it work: lost answers, a crash, duplicates
  deed init                        put deed in front of your MCP clients' servers
  deed mcp -- COMMAND...           run one MCP server behind deed
  deed ops list                    what was done, and what is uncertain
`

// root builds the whole tree of commands.
func (a *app) root() *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use: "deed", Short: "At most one effect per operation, with a receipt", Long: about,
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return action(func(context.Context, []string) error { return a.showVersion() })(cmd, nil)
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddGroup(
		&cobra.Group{ID: "run", Title: "Run:"},
		&cobra.Group{ID: "operate", Title: "Look and decide:"},
		&cobra.Group{ID: "check", Title: "Check:"},
	)
	root.SetUsageTemplate(usageTemplate(root))
	root.SetHelpCommand(helpCommand(root))
	root.SetHelpCommandGroupID("check")
	root.SetCompletionCommandGroupID("check")
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("run", a.demoCommand(), a.mcpCommand(), a.serveCommand(), a.initCommand(), a.uninitCommand())
	add("operate", a.opsCommand(), a.toolsCommand(), a.providersCommand(), a.connectorCommand(), a.budgetsCommand(), a.statusCommand(), a.statsCommand(), a.ledgerCommand(), a.auditCommand(), a.loginCommand())
	add("check", a.doctorCommand(), a.configCommand(), a.proveCommand(), a.benchCommand(), a.hashCommand(), a.versionCommand())
	root.AddCommand(a.fixtureCommand(), exitCodesTopic())
	return root
}

// holdsOthers marks a command that does nothing alone.
const holdsOthers = "holds-others"

// usageTemplate is the parser's own, without the line that names a command alone
// where that does nothing.
func usageTemplate(c *cobra.Command) string {
	return strings.Replace(c.UsageTemplate(), "{{if .Runnable}}", `{{if and .Runnable (not (index .Annotations "`+holdsOthers+`"))}}`, 1)
}

// group is a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Annotations: map[string]string{holdsOthers: use},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
			}
			return cmd.Help()
		},
	}
	c.AddCommand(commands...)
	return c
}

// helpCommand is the parser's own, except that a word which names nothing is
// refused as everywhere else.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND...]", Short: "Help about any command", Example: "  deed help ops resolve",
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return fmt.Errorf("unknown command %q for %q", rest[0], c.CommandPath())
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: "Exit codes of every command:\n\n" + exitHelp}
}

func (a *app) ledgerCommand() *cobra.Command {
	c := group("ledger", "Where the ledger is, and what to do after it lost rows", a.fenceCommand())
	c.Long = `The ledger is one SQLite file, readable by its owner only, that any number of
deed processes on one machine may share; or a PostgreSQL database for gateways
on many machines. deed ledger alone prints where it would be here, without flags and
without a configuration. It is found in this order:

    --ledger FILE, or --ledger postgres://USER@HOST:5432/DATABASE
    ledger: sqlite:FILE or ledger: postgres://... in the file named by --config;
    a FILE is relative to that file
    $XDG_STATE_HOME/deed/ledger.db when that variable is set (not on Windows)
    ~/.local/state/deed/ledger.db, on macOS ~/Library/Application
    Support/deed/ledger.db, on Windows %LocalAppData%\deed\ledger.db
`
	alone := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			if err := a.showDefaultLedger(); err != nil {
				return err
			}
		}
		return alone(cmd, args)
	}
	return c
}

// showDefaultLedger prints the ledger that commands take when none is named.
func (a *app) showDefaultLedger() error {
	at, _, err := a.ledgerAt("", policy.BareConfig(policy.BareOptions{}))
	if err != nil {
		return err
	}
	state := "is not there yet"
	if _, err := os.Stat(string(at)); err == nil {
		state = "is there"
	}
	return a.print("ledger  "+string(at)+" ("+state+")", "")
}
