// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/policy"
)

func (a *app) configCommand() *cobra.Command {
	return group("config", "Check a configuration and what it makes of a call", a.configCheckCommand(), a.configExplainCommand())
}

func (a *app) configCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE", Short: "Check a configuration file", Args: cobra.ExactArgs(1),
		Example: "  deed config check deed.yaml",
		RunE: action(func(_ context.Context, args []string) error {
			config, err := daemon.LoadConfig(args[0], a.getenv)
			var wrong *policy.Error
			switch {
			case errors.As(err, &wrong):
				if a.json {
					return errors.Join(a.printJSON(map[string]any{"file": args[0], "problems": wrong.Problems, "more": wrong.More}), exitWith(exitUsage))
				}
				return &failure{code: exitUsage, err: err}
			case err != nil:
				return &failure{code: exitUsage, err: err}
			}
			set := configuredBy(config)
			if set.Ledger == "" {
				set.Ledger, set.DefaultLedger = a.defaultLedger(), true
			}
			if a.json {
				return a.printJSON(map[string]any{
					"file": args[0], "problems": []policy.Problem{}, "policy_revision": config.Revision,
					"upstreams": len(config.Upstreams), "tools": len(config.Tools), "tokens": len(config.Auth.Tokens),
					"configured": set, "warnings": append(warnings(config), writtenOut(config)...),
				})
			}
			lines := []string{fmt.Sprintf("%s is in order: %s, %s, %s; revision %s", args[0],
				many(len(config.Upstreams), "upstream"), many(len(config.Tools), "tool"), many(len(config.Auth.Tokens), "token"), config.Revision)}
			if w := warnings(config); len(w) > 0 {
				lines[0] = args[0] + " can be read: " + strings.Join(w, "; ")
			}
			lines = append(lines, indented(set.lines())...)
			for _, text := range writtenOut(config) {
				lines = append(lines, "warning: "+text)
			}
			if len(config.Tools) > 0 {
				at := place{config: args[0]}
				lines = append(lines, "no server was asked: "+at.command("tools")+" and "+at.command("doctor")+" compare its tools with what the servers list")
			}
			return a.print(lines...)
		}),
	}
}

func many(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (a *app) configExplainCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "explain TOOL ARGS.json", Short: "Show class, key, fingerprint and matter of a call; connects to nothing", Args: cobra.ExactArgs(2),
		Long: `Shows what becomes of a call of TOOL, or of a request of a route, which is named as
the configuration writes it ("POST api/v1/orders") and whose arguments are those of
"path", "query", "headers", and "body" or "form" that the request has; its method is
the route's. It connects to nothing.`,
		Example: "  deed config explain tickets/create_ticket args.json --config deed.yaml",
		RunE: action(func(_ context.Context, args []string) error {
			e, err := a.explain(file, deed.Tool(args[0]), args[1])
			var refusal *policy.Refusal
			if err != nil && !errors.As(err, &refusal) {
				return err
			}
			if a.json {
				return errors.Join(a.printJSON(explained{e, refusalOf(refusal)}), refusedExit(refusal))
			}
			if err := a.print(explainLines(e)...); err != nil {
				return err
			}
			if config, err := a.rulesAlone(file); err == nil && unnamed(config, e.Tool) {
				a.note("the configuration has no entry for " + string(e.Tool) + ": these are the defaults; if it should have one, look how its name is spelt")
			}
			if refusal != nil {
				return fail(exitFailed, "%w; correct the arguments or the rule", refusal)
			}
			return nil
		}),
	}
	c.Flags().StringVar(&file, "config", "", "configuration `file`")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
	return c
}

// explained adds to an explanation why the call would be refused, if it would.
type explained struct {
	policy.Explanation
	Refused *refused `json:"refused,omitempty"`
}

type refused struct {
	Reason deed.Reason `json:"reason"`
	Text   string      `json:"text"`
}

func refusalOf(r *policy.Refusal) *refused {
	if r == nil {
		return nil
	}
	return &refused{r.Reason, r.Text}
}

func refusedExit(r *policy.Refusal) error {
	if r == nil {
		return nil
	}
	return exitWith(exitFailed)
}

func (a *app) explain(file string, tool deed.Tool, arguments string) (policy.Explanation, error) {
	config, err := a.rulesAlone(file)
	if err != nil {
		return policy.Explanation{}, err
	}
	data, err := a.readArguments(arguments)
	if err != nil {
		return policy.Explanation{}, err
	}
	tool = routeTool(config, tool)
	e, err := policy.Explain(config, tool, data)
	var refusal *policy.Refusal
	if err != nil && !errors.As(err, &refusal) {
		return e, &failure{code: exitUsage, err: err}
	}
	return e, err
}

// routeTool is the tool of a route that is named as the configuration writes it,
// METHOD name/path; any other name stays.
func routeTool(config *policy.Config, name deed.Tool) deed.Tool {
	for _, r := range config.Routes {
		if string(name) == r.Method+" "+r.Upstream+"/"+strings.TrimPrefix(r.Pattern, "/") {
			return r.Name()
		}
	}
	return name
}

// unnamed says that the configuration has no entry for a tool: its name may be
// misspelt.
func unnamed(config *policy.Config, tool deed.Tool) bool {
	_, entry := config.Tools[tool]
	return config.File != "" && !entry && !slices.ContainsFunc(config.Routes, func(r policy.Route) bool { return r.Name() == tool })
}

// maxArguments is the most that a call's arguments may be.
const maxArguments = 16 << 20

// readArguments takes JSON as it is typed, from a file, or from stdin for "-".
func (a *app) readArguments(word string) ([]byte, error) {
	if trimmed := bytes.TrimSpace([]byte(word)); len(trimmed) > 0 && trimmed[0] == '{' {
		return trimmed, nil
	}
	in := a.Stdin
	if word != "-" {
		f, err := os.Open(word)
		if err != nil {
			return nil, fail(exitUsage, "arguments: %w; nothing was done; give JSON such as '{\"id\": 1}', the name of a file, or - for stdin", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxArguments+1))
	switch {
	case err != nil:
		return nil, fail(exitUsage, "arguments: %w; nothing was done", err)
	case len(data) > maxArguments:
		return nil, fail(exitUsage, "arguments: more than %d bytes; nothing was done", maxArguments)
	}
	return bytes.TrimSpace(data), nil
}

func approvalWords(a *policy.ApprovalExplanation) string {
	if a == nil {
		return ""
	}
	text := ": when " + a.When + ", within " + a.Expires + ", sent " + strings.ReplaceAll(a.Run, "_", " ")
	if len(a.Approvers) > 0 {
		text += fmt.Sprintf(", by %d of %d named", a.Quorum, len(a.Approvers))
	}
	return text
}

func budgetWords(b *policy.BudgetExplanation) string {
	if b == nil {
		return "none"
	}
	amount := b.Amount
	if amount == "" {
		amount = "an amount that cannot be told"
	}
	return fmt.Sprintf("%s of %s %s (%s per %s, of each %s)", amount, b.Name, b.Currency, b.Limit, b.Window, b.Scope)
}

func explainLines(e policy.Explanation) []string {
	rows := [][]string{
		{"tool", string(e.Tool)}, {"effect", string(e.Effect) + ": " + e.Why}, {"key", e.Key.Rule},
	}
	if e.Key.Identity != "" {
		rows = append(rows, []string{"identity", string(e.Key.Identity) + ", shared by the " + string(e.Key.Scope)})
	}
	for _, part := range e.Key.Parts {
		value := string(part.Value)
		if json.Valid(part.Value) && value == "null" {
			value = "(known from the call only)"
		}
		rows = append(rows, []string{"  " + part.Name, value})
	}
	matter := string(e.Matter)
	if matter == "null" {
		matter = "none"
	}
	rows = append(rows, []string{"fingerprint", string(e.Fingerprint)}, []string{"canonical", e.Canonical},
		[]string{"matter", matter}, []string{"approval", e.Approval + approvalWords(e.ApprovalRule)}, []string{"budget", budgetWords(e.Budget)}, []string{"timeout", e.Timeout},
		[]string{"policy", e.PolicyRevision})
	return table(rows)
}
