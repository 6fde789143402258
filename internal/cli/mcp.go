// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/policy"
	"github.com/deed-run/deed/telemetry"
)

// mcpOptions are the flags of deed mcp.
type mcpOptions struct {
	name, config, upstream, tenant, actor, ledger, chaos string
}

func (a *app) mcpCommand() *cobra.Command {
	var o mcpOptions
	c := &cobra.Command{
		Use:   "mcp [--name N] [--] COMMAND...",
		Short: "Run one MCP server behind deed, on stdin and stdout",
		Long: `Speaks MCP on stdin and stdout, in front of the server that COMMAND starts, or of
an upstream of a configuration. Flags of deed stand before COMMAND; what follows
its first word is its own, with or without "--".

Stdout carries MCP only. The end of the input, SIGINT or SIGTERM end it: calls
under way may finish, what then has no answer is uncertain. If COMMAND did not start,
or ended before it said anything, the client gets errors and deed exits with 1.

--chaos lets you watch what your own agent does: lose-reply keeps the answer of
every executed call from it, crash ends deed in place of the answer, dup delivers
every call twice. Answers from the ledger always pass.`,
		Example: "  deed mcp --name files -- npx -y @modelcontextprotocol/server-filesystem DIR\n  deed mcp --config deed.yaml --upstream tickets",
		RunE: action(func(ctx context.Context, args []string) error {
			return a.mcp(ctx, o, args)
		}),
	}
	c.Flags().StringVar(&o.name, "name", "", "name of the server in the ledger (default: a digest of COMMAND)")
	c.Flags().StringVar(&o.config, "config", "", "configuration `file`")
	c.Flags().StringVar(&o.upstream, "upstream", "", "upstream of the configuration (default: its only one)")
	c.Flags().StringVar(&o.tenant, "tenant", "", "tenant (default: default, or that of the configuration)")
	c.Flags().StringVar(&o.actor, "actor", "", "actor (default: local, or that of the configuration)")
	c.Flags().StringVar(&o.ledger, "ledger", "", "ledger `file` (see deed help ledger)")
	c.Flags().StringVar(&o.chaos, "chaos", "", "lose-reply, dup or crash")
	// Some clients swallow "--": what follows the first word is the command's.
	c.Flags().SetInterspersed(false)
	_ = c.MarkFlagFilename("config", "yaml", "yml")
	_ = c.RegisterFlagCompletionFunc("chaos", cobra.FixedCompletions([]string{"lose-reply", "dup", "crash"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (a *app) mcp(ctx context.Context, o mcpOptions, command []string) error {
	chaos, err := daemon.ParseChaos(o.chaos)
	if err != nil {
		return &failure{code: exitUsage, err: err}
	}
	config, name, err := a.mcpRules(o, command)
	if err != nil {
		return err
	}
	path, named, err := a.ledgerAt(o.ledger, config)
	if err != nil {
		return err
	}
	if err := makeDefaultFolder(path, named); err != nil {
		return err
	}
	about := ledgerNote(path)
	telemetry.ReportTo(a.note, deed.SystemClock{})
	core, err := daemon.Open(ctx, daemon.Options{
		Config: config, Ledger: path, Environ: a.Env, Stderr: a.Stderr, Log: a.note,
		Transport: daemon.TransportPipe, Build: a.build().Version,
	})
	if err != nil {
		return err
	}
	if !named || about.made {
		a.note(about.text)
	}
	if chaos != daemon.ChaosNone {
		a.note("chaos is on: " + string(chaos))
	}
	err = core.ServeStdio(ctx, daemon.StdioOptions{Upstream: name, Principal: localPrincipal(config), Chaos: chaos}, a.Stdin, a.Stdout)
	if errors.Is(err, daemon.ErrChaosCrash) {
		return &failure{code: exitFailed, err: err}
	}
	if err == nil {
		// A client that left before it asked anything has not seen that it cannot start.
		return startable(config.Upstreams[name])
	}
	return err
}

// startable says why the command of a server cannot be started.
func startable(up policy.Upstream) error {
	if len(up.Command) == 0 {
		return nil
	}
	program := up.Command[0].Text
	if up.Program != "" {
		program = up.Program
	}
	if up.Cwd != "" && strings.ContainsRune(program, filepath.Separator) && !filepath.IsAbs(program) {
		program = filepath.Join(up.Cwd, program)
	}
	if _, err := exec.LookPath(program); err != nil {
		return fail(exitFailed, "upstream %q cannot be started: %w; see that its command runs by itself", up.Name, err)
	}
	return nil
}

// localPrincipal is whoever uses deed without a token.
func localPrincipal(config *policy.Config) deed.Principal {
	return deed.Principal{Tenant: config.Tenant, Actor: config.Actor, Rights: []deed.Right{deed.RightCall, deed.RightRead}}
}

// mcpRules finds the rules and the upstream that the flags and the command mean.
func (a *app) mcpRules(o mcpOptions, command []string) (*policy.Config, string, error) {
	switch {
	case len(command) == 0 && o.config == "":
		return nil, "", fail(exitUsage, "no server is named; nothing was started; write deed mcp -- COMMAND..., or deed mcp --config FILE --upstream NAME")
	case len(command) > 0 && o.upstream != "":
		return nil, "", fail(exitUsage, "--upstream and a command are two servers; nothing was started; keep one of the two")
	}
	if o.config == "" {
		name, up, err := a.commandUpstream(o.name, command)
		if err != nil {
			return nil, "", err
		}
		config := policy.BareConfig(policy.BareOptions{
			Tenant: deed.Tenant(o.tenant), Actor: deed.Actor(o.actor), Upstreams: []policy.Upstream{up},
		})
		return config, name, nil
	}
	config, err := a.rules(o.config, policy.BareOptions{})
	if err != nil {
		return nil, "", err
	}
	if o.tenant != "" {
		config.Tenant = deed.Tenant(o.tenant)
	}
	if o.actor != "" {
		config.Actor = deed.Actor(o.actor)
	}
	if len(command) > 0 {
		name, up, err := a.commandUpstream(o.name, command)
		if err != nil {
			return nil, "", err
		}
		config.Upstreams[name] = up
		return config, name, nil
	}
	name, err := chooseUpstream(config, o)
	return config, name, err
}

// chooseUpstream takes the named upstream, or the only one.
func chooseUpstream(config *policy.Config, o mcpOptions) (string, error) {
	names := daemon.Servers(config)
	wanted := o.upstream
	if wanted == "" && o.name != "" {
		wanted = o.name
	}
	switch {
	case len(names) == 0:
		return "", fail(exitUsage, "%s has neither upstreams nor connectors; nothing was started; add one, or write the command after --", o.config)
	case wanted == "" && len(names) == 1:
		return names[0], nil
	case wanted == "":
		return "", fail(exitUsage, "%s has several upstreams; nothing was started; add --upstream with one of %s", o.config, strings.Join(names, ", "))
	case !slices.Contains(names, wanted):
		return "", fail(exitUsage, "%s has no upstream %q; nothing was started; use one of %s", o.config, wanted, strings.Join(names, ", "))
	}
	return wanted, nil
}

// commandUpstream describes the server that a command line starts. Its name is
// part of every tool's name in the ledger: without one, equal commands share it.
func (a *app) commandUpstream(name string, command []string) (string, policy.Upstream, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", policy.Upstream{}, fail(exitFailed, "finding the working directory: %w; nothing was started", err)
	}
	up := policy.NewCommand("", command, folder, a.getenv)
	if name == "" {
		words := append([]string{up.Program}, command[1:]...)
		sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
		name = "mcp-" + hex.EncodeToString(sum[:6])
	}
	if strings.ContainsAny(name, "/ \t\r\n") {
		return "", policy.Upstream{}, fail(exitUsage, "--name %q holds a slash or white space; nothing was started; it is the first part of tool names", name)
	}
	up.Name = name
	return name, up, nil
}
