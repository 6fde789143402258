// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed/connector"
)

func (a *app) providersCommand() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "List the providers whose ways are known, and what their operations offer", Args: cobra.NoArgs,
		Long: `Lists the catalogue that this binary carries: for each operation of a provider
whether it honours a key of its own and for how long, how a lost effect is found,
and how that is known. "unverified" is general knowledge that nobody has checked.`,
		Example: "  deed providers list\n  deed providers list --json",
		RunE: action(func(context.Context, []string) error {
			providers := connector.Providers()
			if a.json {
				return a.printJSON(map[string]any{"providers": providerViews(providers)})
			}
			rows := [][]string{{"OPERATION", "KIND", "OWN KEY", "FOUND BY", "KNOWN"}}
			for _, p := range providers {
				for _, op := range p.Operations {
					rows = append(rows, []string{op.Name, op.Kind, keyWords(op), orDash(strings.Join(op.Strategies, ", ")), string(op.Confidence)})
				}
			}
			return a.print(table(rows)...)
		}),
	}
	show := &cobra.Command{
		Use: "show PROVIDER[/OPERATION]", Short: "Show what is known of a provider, with its sources", Args: cobra.ExactArgs(1),
		Long: `Shows an entry of the catalogue: what is stated by whom, what was seen, and what
is not verified. The last part is what a tool's entry in deed.yaml inherits with
provider: PROVIDER/OPERATION.`,
		Example: "  deed providers show stripe\n  deed providers show stripe/refund",
		RunE: action(func(_ context.Context, args []string) error {
			name, _, one := strings.Cut(args[0], "/")
			p, known := connector.Provider(name)
			if known && one {
				p.Operations = slices.DeleteFunc(p.Operations, func(op connector.OperationInfo) bool { return op.Name != args[0] })
				known = len(p.Operations) > 0
			}
			if !known {
				return fail(exitNotFound, "%s is not in the catalogue; deed providers list shows what is", plain(args[0]))
			}
			if a.json {
				return a.printJSON(providerViews([]connector.ProviderInfo{p})[0])
			}
			var lines []string
			for i, op := range p.Operations {
				if i > 0 {
					lines = append(lines, "")
				}
				lines = append(lines, operationLines(op)...)
			}
			return a.print(lines...)
		}),
	}
	return group("providers", "Show what is known of providers", list, show)
}

// keyWords says whether a provider honours a key of its own.
func keyWords(op connector.OperationInfo) string {
	switch {
	case !op.HasKey:
		return "no"
	case op.Retention == 0:
		return "yes, nobody says how long"
	case op.Key.Bound == "at_least":
		return "for at least " + short(op.Retention)
	}
	return "for " + short(op.Retention)
}

func operationLines(op connector.OperationInfo) []string {
	rows := [][]string{
		{"operation", op.Name}, {"about", op.Description}, {"kind", op.Kind}, {"own key", keyWords(op)},
		{"key scope", strings.Join(op.Key.Scope, ", ")}, {"a repeat is answered with", strings.ReplaceAll(op.Key.Replay, "_", " ")},
		{"replay mark", op.Key.ReplayMarker}, {"found by", strings.Join(op.Strategies, ", then ")},
		{"marks are seen by", op.MarkerVisibility}, {"look-up needs", strings.Join(op.Scopes, ", ")},
		{"webhooks", strings.Join(op.Webhooks, ", ")}, {"known", string(op.Confidence)}, {"checked live", checkedWords(op.VerifiedAt)},
	}
	var lines []string
	kept := rows[:0]
	for _, row := range rows {
		if row[1] != "" {
			kept = append(kept, []string{row[0], plain(row[1])})
		}
	}
	lines = append(lines, table(kept)...)
	for _, part := range []struct {
		title string
		texts map[string]string
	}{{"notes", op.Notes}, {"not verified", op.Unverified}} {
		if len(part.texts) == 0 {
			continue
		}
		lines = append(lines, "", part.title)
		for _, subject := range slices.Sorted(maps.Keys(part.texts)) {
			lines = append(lines, "  "+subject+": "+plain(part.texts[subject]))
		}
	}
	lines = append(lines, "", "sources")
	for _, source := range op.Sources {
		lines = append(lines, "  "+plain(source))
	}
	if len(op.Entry) > 0 {
		lines = append(lines, "", "what provider: "+op.Name+" stands for in a tool's entry")
		for line := range strings.Lines(string(op.Entry)) {
			lines = append(lines, "  "+strings.TrimRight(line, "\n"))
		}
	}
	return lines
}

func checkedWords(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return "on " + at.Format(time.DateOnly)
}

func providerViews(providers []connector.ProviderInfo) []map[string]any {
	views := make([]map[string]any, 0, len(providers))
	for _, p := range providers {
		operations := make([]map[string]any, 0, len(p.Operations))
		for _, op := range p.Operations {
			checked := ""
			if !op.VerifiedAt.IsZero() {
				checked = op.VerifiedAt.Format(time.DateOnly)
			}
			operations = append(operations, map[string]any{
				"name": op.Name, "description": op.Description, "kind": op.Kind, "own_key": op.HasKey, "retention_seconds": int64(op.Retention.Seconds()),
				"strategies": op.Strategies, "notes": op.Notes, "unverified": op.Unverified, "confidence": op.Confidence, "verified_at": checked,
				"sources": op.Sources, "entry": string(op.Entry),
			})
		}
		views = append(views, map[string]any{"name": p.Name, "title": p.Title, "base_url": p.BaseURL, "operations": operations})
	}
	return views
}

func (a *app) connectorCommand() *cobra.Command {
	load := &cobra.Command{
		Use: "import FILE", Short: "Write a connector's description from an OpenAPI document", Args: cobra.ExactArgs(1),
		Long: `Reads an OpenAPI 3 document and prints a description of tools for connectors: of
deed.yaml. What the document does not say (keys of the provider's, look-ups, what
its refusals mean) is left open and named on standard error: fill it in before
money depends on it.`,
		Example: "  deed connector import openapi.yaml > billing.yaml",
		RunE: action(func(_ context.Context, args []string) error {
			file, err := os.Open(args[0])
			if err != nil {
				return fail(exitUsage, "%w; nothing was written", err)
			}
			defer file.Close()
			description, notes, err := connector.ImportOpenAPI(file)
			if err != nil {
				return fail(exitUsage, "%s: %w; nothing was written", args[0], err)
			}
			for _, note := range notes {
				a.note(note)
			}
			if a.json {
				return a.printJSON(map[string]any{"description": string(description), "notes": notes})
			}
			_, err = fmt.Fprint(a.Stdout, string(description))
			return err
		}),
	}
	return group("connector", "Make tools of plain HTTP APIs", load)
}
