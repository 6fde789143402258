// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
)

func (a *app) opsCommand() *cobra.Command {
	c := group("ops", "Look at operations and decide about them",
		a.opsListCommand(), a.opsShowCommand(), a.opsApproveCommand(), a.opsDenyCommand(), a.opsResolveCommand(), a.opsReconcileCommand(),
		a.opsRunCommand(), a.opsCancelCommand(), a.opsReopenCommand())
	c.Long = `Works on the ledger itself, also while gateways use it, as operator:USER with
all rights; or, with --server, through a running daemon, as whoever the token
belongs to. What you decide is in the operation's history, under that name.`
	return c
}

func (a *app) opsListCommand() *cobra.Command {
	var at place
	var statuses []string
	var tool, actor, key, before string
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List operations, newest first", Args: cobra.NoArgs,
		Example: "  deed ops list --status uncertain\n  deed ops list --tool tickets/create_ticket --limit 10 --json",
		RunE: action(func(ctx context.Context, _ []string) error {
			query := deed.Query{Tool: deed.Tool(tool), Actor: deed.Actor(actor), Key: key, Before: deed.OperationID(before), Limit: limit}
			if limit < 1 || limit > 1000 {
				return fail(exitUsage, "--limit %d: nothing was read; write a number from 1 to 1000", limit)
			}
			var err error
			if query.Statuses, err = parseStatuses(statuses); err != nil {
				return err
			}
			return a.listOperations(ctx, at, query)
		}),
	}
	at.operatorFlags(c)
	c.Flags().StringSliceVar(&statuses, "status", nil, "statuses, or pending, accepted, closed")
	c.Flags().StringVar(&tool, "tool", "", "`upstream/tool`")
	c.Flags().StringVar(&actor, "actor", "", "who began it")
	c.Flags().StringVar(&key, "key", "", "idempotency key, also an alias")
	c.Flags().IntVar(&limit, "limit", 50, "how many at most")
	c.Flags().StringVar(&before, "before", "", "operation `id` after which the list goes on")
	_ = c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(statusWords(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func statusWords() []string {
	words := []string{string(deed.FilterPending), string(deed.FilterAccepted), string(deed.FilterClosed)}
	for _, s := range deed.Statuses() {
		words = append(words, string(s))
	}
	return words
}

func parseStatuses(words []string) ([]deed.Status, error) {
	var list []deed.Status
	for _, word := range words {
		found := deed.Filter(strings.TrimSpace(word)).Statuses()
		if len(found) == 0 {
			return nil, fail(exitUsage, "--status: there is no status %q; nothing was read; use %s", word, strings.Join(statusWords(), ", "))
		}
		for _, s := range found {
			if !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list, nil
}

func (a *app) listOperations(ctx context.Context, at place, query deed.Query) (err error) {
	d, err := a.desk(ctx, at)
	if err != nil {
		return err
	}
	defer leave(d, &err)
	page, err := d.List(ctx, query)
	if err != nil {
		return err
	}
	now := d.Now()
	if a.json {
		list := make([]shown, 0, len(page.Operations))
		for _, op := range page.Operations {
			list = append(list, show(op, now))
		}
		return a.printJSON(map[string]any{"operations": list, "next": page.Next})
	}
	if len(page.Operations) == 0 {
		return a.print("no operations")
	}
	if err := a.print(a.paint(operationTable(page.Operations, now), " uncertain ")...); err != nil {
		return err
	}
	if page.Next != "" {
		return a.print("", "more: add --before "+string(page.Next))
	}
	return nil
}

func operationTable(list []*deed.Operation, now time.Time) []string {
	rows := [][]string{{"OPERATION", "STATUS", "TOOL", "TENANT", "ACTOR", "BEGUN", "MATTER", "KEY"}}
	for _, op := range list {
		rows = append(rows, []string{
			string(op.ID), standing(op, now), string(op.Tool), string(op.Tenant), string(op.Actor), when(op.CreatedAt, now), matterText(op), keyText(op.Key),
		})
	}
	return table(rows)
}

func matterText(op *deed.Operation) string {
	if op.Matter == "" {
		return "-"
	}
	return string(op.Matter)
}
