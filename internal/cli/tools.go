// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/policy"
)

// listWait bounds how long an upstream may take to start and list its tools.
const listWait = time.Minute

func (a *app) toolsCommand() *cobra.Command {
	var o mcpOptions
	var verbose bool
	c := &cobra.Command{
		Use: "tools [--config FILE | -- COMMAND...]", Short: "List tools with class, key rule and guarantee, and what would make it better",
		Long: `Starts or connects to the servers, lists their tools, and says of each how deed
treats it and why: its effect class, where its key comes from, what is guaranteed,
and what you could declare to make that better. It calls no tool and needs no
ledger; where there is one, tools whose definition has changed are marked.`,
		Example: "  deed tools --config deed.yaml\n  deed tools -- npx -y @modelcontextprotocol/server-filesystem DIR\n  deed tools diff files/write_file",
		RunE: action(func(ctx context.Context, args []string) error {
			config, err := a.toolRules(o, args)
			if err != nil {
				return err
			}
			said := io.Discard
			if verbose {
				said = a.Stderr
			}
			listed, problems := a.listTools(ctx, config, o.upstream, said)
			advice := policy.Advise(config, listed)
			if len(problems) > 0 {
				// Entries of servers that were not asked are not misspelt.
				advice = slices.DeleteFunc(advice, func(v policy.Advice) bool {
					return !slices.ContainsFunc(listed, func(t policy.ListedTool) bool { return t.Tool == v.Tool })
				})
			}
			list, err := a.standings(ctx, config, o, advice)
			if err != nil {
				return err
			}
			if len(list) == 0 && len(problems) > 0 && !a.json {
				return problemsExit(problems, o)
			}
			return errors.Join(a.showTools(list, place{config: o.config, ledger: o.ledger}, verbose), problemsExit(problems, o))
		}),
	}
	c.Flags().StringVar(&o.name, "name", "", "name of the server that COMMAND starts")
	c.Flags().StringVar(&o.config, "config", "", "configuration `file`")
	c.Flags().StringVar(&o.upstream, "upstream", "", "only this upstream of the configuration")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "show every tool by itself, and on stderr what the servers say")
	c.Flags().StringVar(&o.ledger, "ledger", "", "ledger `file` (see deed help ledger)")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
	_ = c.MarkFlagFilename("ledger", "db")
	c.AddCommand(a.toolsDiffCommand(), a.toolsAcceptCommand(), a.toolsErrorsCommand(), a.toolsTeachCommand())
	return c
}

func (a *app) toolRules(o mcpOptions, command []string) (*policy.Config, error) {
	if o.config != "" && len(command) == 0 {
		config, err := a.rules(o.config, policy.BareOptions{})
		if err != nil {
			return nil, err
		}
		if o.upstream != "" && !slices.Contains(daemon.Servers(config), o.upstream) {
			return nil, fail(exitUsage, "%s has no upstream %q; nothing was started", o.config, o.upstream)
		}
		return config, nil
	}
	if o.config == "" && len(command) == 0 {
		return nil, fail(exitUsage, "no server is named; nothing was started; write deed tools -- COMMAND..., or deed tools --config FILE")
	}
	config, _, err := a.mcpRules(o, command)
	return config, err
}

// listTools asks every upstream; one that fails does not hide the others.
func (a *app) listTools(ctx context.Context, config *policy.Config, only string, said io.Writer) ([]policy.ListedTool, []error) {
	var listed []policy.ListedTool
	var problems []error
	for _, name := range daemon.Servers(config) {
		if only != "" && only != name {
			continue
		}
		waiting, cancel := context.WithTimeout(ctx, listWait)
		tools, err := daemon.ListServer(waiting, config, name, a.Env, said)
		cancel()
		if err != nil {
			problems = append(problems, err)
			continue
		}
		listed = append(listed, tools...)
	}
	return listed, problems
}

func problemsExit(problems []error, o mcpOptions) error {
	if len(problems) == 0 {
		return nil
	}
	texts := make([]string, len(problems))
	for i, err := range problems {
		texts[i] = deed.Whole(err)
	}
	return fail(exitFailed, "%s; its tools are not listed; correct the command or URL, %s shows what it says", strings.Join(texts, "\n"), place{config: o.config}.command("tools -v"))
}
